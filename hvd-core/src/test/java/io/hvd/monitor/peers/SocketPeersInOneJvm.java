package io.hvd.monitor.peers;

import io.hvd.monitor.view.RankProcess;
import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import io.hvd.testing.Exchange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Connects the monitors of several ranks in one JVM as if each had a process of its own. */
public final class SocketPeersInOneJvm {
    private SocketPeersInOneJvm() {}

    /** The ranks from {@code firstWithoutAddress} on cannot open their sockets. */
    public static List<CompletableFuture<Peers>> connect(int size, int firstWithoutAddress, RankProcess... given) {
        Exchange exchange = new Exchange(size);
        List<CompletableFuture<Peers>> connecting = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            RankProcess member = i < given.length ? given[i] : RankProcess.ofThisProcess(i, "here");
            SocketPeers.Reachable host = i < firstWithoutAddress
                    ? InetAddress::getLoopbackAddress
                    : () -> {
                        throw new IOException("no usable network interface");
                    };
            CompletableFuture<Peers> connected = new CompletableFuture<>();
            connecting.add(connected);
            new Thread(() -> {
                        try {
                            connected.complete(SocketPeers.connect(
                                    member, host, PortRange.ANY, Encryption.NONE, exchange.of(member.rank())));
                        } catch (RuntimeException e) {
                            connected.completeExceptionally(e);
                        }
                    })
                    .start();
        }
        return connecting;
    }

    /** The addresses at which all ranks receive questions, by rank. */
    public static List<InetSocketAddress> questions(Peers peers) {
        return ((SocketPeers) peers).questions();
    }
}
