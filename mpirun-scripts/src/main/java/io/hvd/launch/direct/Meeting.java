package io.hvd.launch.direct;

import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.process.LauncherServer;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.rendezvous.RendezvousServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * The rendezvous of one job in the launcher.
 *
 * @param address with the secret by which the job's ranks are told from others
 */
record Meeting(RendezvousServer server, String address) implements AutoCloseable {

    /** Opens it, inside this machine only where all ranks are here. @param ranks in their order */
    static Meeting of(LaunchFacts job, List<PlannedRank> ranks) throws IOException {
        byte[] secret = HandshakeListener.newSecret();
        List<ServerSocketChannel> sockets = sockets(job);
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel socket : sockets) {
            addresses.add((InetSocketAddress) socket.getLocalAddress());
        }
        Duration limit = Duration.ofSeconds(job.settings().checks().limitSeconds());
        String address = new LauncherAddress(HexFormat.of().formatHex(secret), addresses).encode();
        return new Meeting(
                RendezvousServer.start(
                        sockets,
                        new RendezvousServer.Job(
                                ranks.size(),
                                secret,
                                job.settings().network().encryption(),
                                limit,
                                ranks.stream().map(PlannedRank::host).toList())),
                address);
    }

    private static List<ServerSocketChannel> sockets(LaunchFacts job) throws IOException {
        List<InetAddress> addresses = job.allRanksHere()
                ? List.of(InetAddress.getLoopbackAddress())
                : LauncherServer.addresses(job.settings().network().ofLauncher());
        List<ServerSocketChannel> sockets = new ArrayList<>();
        for (InetAddress address : addresses) {
            sockets.add(HandshakeListener.bind(address, job.settings().network().ports()));
        }
        return sockets;
    }

    @Override
    public void close() {
        server.close();
    }
}
