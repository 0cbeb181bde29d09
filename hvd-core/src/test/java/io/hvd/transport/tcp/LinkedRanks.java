package io.hvd.transport.tcp;

import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.PortRange;
import io.hvd.spi.Transfers.Transfer;
import io.hvd.transport.tcp.Dialler.DataAddresses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** The links of ranks of one JVM, over its loopback; any thread may stand for a rank. */
final class LinkedRanks implements AutoCloseable {
    static final int LIMIT_MILLIS = 20_000;

    private final List<Links> links = new ArrayList<>();
    private final DataAddresses addresses;

    LinkedRanks(int ranks, int lanes) throws IOException {
        List<ServerSocketChannel> sockets = new ArrayList<>();
        List<InetSocketAddress> at = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
            sockets.add(socket);
            at.add((InetSocketAddress) socket.getLocalAddress());
        }
        addresses = new DataAddresses(at, HandshakeListener.newSecret(), Encryption.NONE);
        for (int rank = 0; rank < ranks; rank++) {
            HandshakeListener listener = new HandshakeListener(List.of(sockets.get(rank)));
            links.add(links(rank, lanes, addresses, listener, Selector.open()));
        }
    }

    static Links links(int rank, int lanes, DataAddresses addresses, HandshakeListener listener, Selector selector) {
        List<String> hosts = IntStream.range(0, addresses.ofRanks().size())
                .mapToObj(i -> "host" + i)
                .toList();
        return new Links(rank, hosts, new Dialler(rank, lanes, addresses, LIMIT_MILLIS, listener), lanes, selector);
    }

    Links of(int rank) {
        return links.get(rank);
    }

    DataAddresses addresses() {
        return addresses;
    }

    static void await(Transfer... transfers) {
        for (Transfer transfer : transfers) {
            while (!transfer.isDone()) {
                if (Thread.currentThread().isInterrupted()) {
                    throw new IllegalStateException("the test's time is over");
                }
                Thread.yield();
            }
        }
    }

    @Override
    public void close() {
        links.forEach(Links::close);
    }
}
