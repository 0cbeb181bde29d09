package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.kernel.ReduceKernel;
import io.hvd.net.Invitation;
import io.hvd.net.StartupExchange;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.transport.tcp.Dialler.DataAddresses;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** TCP connections between ranks, which have transfers and nothing else. */
final class TcpTransport implements Transport {
    /** The odd number by which SplitMix64 spreads its seeds (G. Steele et al., OOPSLA 2014). */
    private static final long MIX = 0x9E3779B97F4A7C15L;

    private final TcpBootstrap bootstrap;
    private final String description;
    private final Links links;
    /** How many groups of the same members there were. */
    private final Map<List<Integer>, Integer> groups = new HashMap<>();

    private TcpTransport(TcpBootstrap bootstrap, String description, Links links) {
        this.bootstrap = bootstrap;
        this.description = description;
        this.links = links;
    }

    /**
     * Opens this rank's listener and learns those of the others; all ranks come here together.
     *
     * @param why why it is TCP that connects the ranks, for the log line; empty if the user has asked for it
     * @throws io.hvd.error.HvdException on all ranks if one of them cannot listen
     */
    static TcpTransport open(TcpBootstrap bootstrap, HvdConfig config, String why) {
        Topology topology = bootstrap.topology();
        int lanes = config.control().connections();
        DataSockets sockets = new DataSockets();
        try {
            List<Invitation> invitations = StartupExchange.hold(
                            "rank " + topology.rank() + " (" + topology.host() + ") could not listen for data",
                            () -> sockets.open(topology, config.control()).encode(),
                            bootstrap::exchange)
                    .stream()
                    .map(Invitation::decode)
                    .toList();
            DataAddresses addresses = new DataAddresses(
                    invitations.stream().map(Invitation::address).toList(),
                    invitations.get(0).secret(),
                    config.control().encryption());
            int limitMillis = config.control().startTimeoutSeconds() * 1_000;
            Dialler dialler = new Dialler(topology.rank(), lanes, addresses, limitMillis, sockets.listener());
            String words = "tcp (" + invitations.get(0).address().getAddress().getHostAddress()
                    + (why.isEmpty() ? "" : ", " + why) + ")";
            return new TcpTransport(
                    bootstrap, words, new Links(topology.rank(), topology.hosts(), dialler, lanes, sockets.selector()));
        } catch (RuntimeException | Error e) {
            sockets.close();
            throw e;
        }
    }

    @Override
    public String description() {
        return description;
    }

    /** The number of a group follows from its members and from how many groups they have had, so that nobody has to agree on it. */
    @Override
    public Group group(List<Integer> members) {
        List<Integer> all = List.copyOf(members);
        int before = groups.merge(all, 1, Integer::sum);
        long number = before;
        for (int member : all) {
            number = (number ^ (member + 1)) * MIX;
            number ^= number >>> 32;
        }
        return new TcpGroup(new MemberTransfers(links, all, number));
    }

    private record TcpGroup(Transfers transfers) implements Group {
        @Override
        public Optional<ByteCollectives> collectives() {
            return Optional.empty();
        }

        @Override
        public void close() {
            // The connections serve all groups.
        }
    }

    private record MemberTransfers(Links links, List<Integer> members, long group) implements Transfers {
        @Override
        public Transfer send(ByteBuffer bytes, int to, int tag) {
            return links.send(group, tag, bytes, members.get(to));
        }

        @Override
        public Transfer receive(ByteBuffer bytes, int from, int tag) {
            return links.receive(group, tag, bytes, members.get(from));
        }

        /**
         * Long, as every message takes a call of the system on either side, but with its header no longer than two of the pieces
         * of up to 64 KiB in which Linux passes bytes to a network card: a few bytes in a third piece take as long as many.
         */
        @Override
        public int fastestBytes() {
            return MOST_BYTES;
        }
    }

    /** The system moves on what a socket has taken, and a transfer is done only then. */
    @Override
    public Progress progress() {
        return Progress.NONE;
    }

    @Override
    public void rest(long nanos) {
        links.await();
    }

    @Override
    public ReduceKernel kernel() {
        return ReduceKernel.OFFERED;
    }

    @Override
    public void abandon(String why) {
        try {
            links.abandon(why);
        } finally {
            bootstrap.close();
        }
    }

    @Override
    public void close() {
        try {
            links.close();
        } finally {
            bootstrap.close();
        }
    }
}
