package io.hvd.launch.direct;

import io.hvd.elastic.CoordinatorServer;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LauncherServer;
import io.hvd.launch.words.UsageException;
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
record Meeting(RendezvousServer server, String address) implements CoordinatorServer.Meeting {

    /**
     * Opens it, inside this machine only where all ranks are here.
     *
     * @param hosts of the ranks, in their order
     * @throws UsageException if this machine has no address at which other hosts could reach it
     */
    static Meeting of(LaunchFacts job, List<String> hosts) throws IOException {
        var limit = Duration.ofSeconds(job.settings().checks().limitSeconds());
        return at(addresses(job), job.settings().network(), limit, hosts);
    }

    /** Opens it at addresses of this machine. @param limit within which all ranks must have come */
    static Meeting at(List<InetAddress> addresses, LaunchSettings.Network network, Duration limit, List<String> hosts)
            throws IOException {
        return LauncherServer.listen(addresses, network.ports(), sockets -> serving(sockets, network, limit, hosts));
    }

    /** Where the launcher listens for the ranks of a job. */
    static List<InetAddress> addresses(LaunchFacts job) throws IOException {
        List<InetAddress> addresses = job.allRanksHere()
                ? List.of(InetAddress.getLoopbackAddress())
                : LauncherServer.addresses(job.settings().network().ofLauncher());
        if (addresses.isEmpty()) {
            throw new UsageException(
                    "no-address",
                    "this machine has no network address but those inside it, and ranks on other hosts have to reach"
                            + " horovodrun's rendezvous here");
        }
        return addresses;
    }

    private static Meeting serving(
            List<ServerSocketChannel> sockets, LaunchSettings.Network network, Duration limit, List<String> hosts)
            throws IOException {
        network.encryption().requireKey();
        byte[] secret = HandshakeListener.newSecret();
        var known = new RendezvousServer.Job(hosts.size(), secret, network.encryption(), limit, hosts);
        return new Meeting(RendezvousServer.start(sockets, known), encoded(sockets, secret));
    }

    /** What ranks are told of a server of the launcher's. */
    static String encoded(List<ServerSocketChannel> sockets, byte[] secret) throws IOException {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel socket : sockets) {
            addresses.add((InetSocketAddress) socket.getLocalAddress());
        }
        return new LauncherAddress(HexFormat.of().formatHex(secret), addresses).encode();
    }

    @Override
    public void close() {
        server.close();
    }
}
