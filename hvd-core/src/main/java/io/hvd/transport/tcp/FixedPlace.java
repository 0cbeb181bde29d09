package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.RankPlace.AtRankZero;
import io.hvd.log.HvdLogger;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.rendezvous.RendezvousServer;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Hosts and ports that all ranks know from their variables; rank 0 listens at the first port that is free there. */
final class FixedPlace extends MeetingPlace {
    private static final HvdLogger LOG = HvdLogger.of(FixedPlace.class);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    /** Stands for a job of more than one host, which a rank knows only later. */
    private static final List<Integer> TWO_NODES = List.of(0, 1);

    private final AtRankZero there;
    private final byte[] secret;
    /** Rank 0's server, and its address here, whatever the name means to others. */
    private final Optional<Own> own;

    private record Own(RendezvousServer server, InetSocketAddress address) {}

    private FixedPlace(AtRankZero there, byte[] secret, Encryption encryption, Optional<Own> own) {
        super(there.source(), encryption);
        this.there = there;
        this.secret = secret;
        this.own = own;
    }

    static FixedPlace of(AtRankZero there, RankPlace mine, HvdConfig config) throws IOException {
        byte[] secret = there.secret(config.control().secret()).bytes(HandshakeListener.SECRET_BYTES);
        Encryption encryption = config.control().encryption();
        if (mine.rank() > 0) {
            return new FixedPlace(there, secret, encryption, Optional.empty());
        }
        Set<InetAddress> addresses = addresses(there.hosts(), config.control().networkInterface());
        if (config.control().secret().isEmpty() && !addresses.stream().allMatch(InetAddress::isLoopbackAddress)) {
            LOG.warn(
                    "the ranks meet without a secret, as HVD_SECRET is not set and {} tells no more than a place: whoever can"
                            + " reach rank 0 and knows the job's address or number can take the place of a rank. Set"
                            + " HVD_SECRET to the same random word on all ranks, or start them by horovodrun --gloo",
                    there.source());
        }
        Duration limit = Duration.ofSeconds(config.control().startTimeoutSeconds());
        List<ServerSocketChannel> sockets = listening(addresses, there, limit);
        var address = (InetSocketAddress) sockets.get(0).getLocalAddress();
        RendezvousServer server = serve(sockets, mine.size(), secret, config);
        return new FixedPlace(there, secret, encryption, Optional.of(new Own(server, address)));
    }

    /**
     * Where rank 0 listens: at the place that was named; of all the addresses of mpirun's host at those of the chosen
     * interfaces.
     */
    private static Set<InetAddress> addresses(List<String> hosts, Optional<String> asked) throws IOException {
        if (hosts.size() == 1) {
            return addresses(hosts.get(0), asked);
        }
        Set<InetAddress> meant = new LinkedHashSet<>();
        for (String host : hosts) {
            InetAddress address = InetAddress.getByName(host);
            if (HostAddress.isMeant(asked.orElse(""), address)) {
                meant.add(address);
            }
        }
        if (meant.isEmpty()) {
            throw new IOException("none of the addresses " + hosts + " is of an interface that "
                    + asked.map(names -> "HOROVOD_GLOO_IFACE=" + names + " names")
                            .orElse("leads out of this host")
                    + "; set HVD_RENDEZVOUS=host:port on all ranks");
        }
        return meant;
    }

    /**
     * This host's addresses for the others: that of the name, and that of the network if the name means the loopback here, as
     * it does where {@code /etc/hosts} gives the host's own name 127.0.1.1, or means no address of this host.
     */
    private static Set<InetAddress> addresses(String host, Optional<String> asked) throws IOException {
        Set<InetAddress> addresses = new LinkedHashSet<>();
        InetAddress named = new InetSocketAddress(host, 0).getAddress();
        boolean local = named != null && HostAddress.isOwn(named);
        if (local) {
            addresses.add(named);
        }
        boolean meansLoopback = host.equalsIgnoreCase("localhost") || host.startsWith("127.") || host.equals("::1");
        if (!local || named.isLoopbackAddress() && !meansLoopback) {
            addresses.add(HostAddress.of(TWO_NODES, asked));
        }
        return addresses;
    }

    /** An earlier job may hold the port for a moment. */
    private static List<ServerSocketChannel> listening(Set<InetAddress> addresses, AtRankZero there, Duration limit)
            throws IOException {
        long begun = System.nanoTime();
        boolean told = false;
        while (true) {
            try {
                return bound(addresses, there.ports());
            } catch (BindException e) {
                String why = "rank 0 cannot listen at a port of " + there.ports() + " of " + addresses + ", as "
                        + there.source() + " says: " + e.getMessage();
                if (Thread.currentThread().isInterrupted()) {
                    throw new IOException(why + "; it was interrupted", e);
                }
                if (System.nanoTime() - begun > limit.toNanos()) {
                    throw new IOException(
                            why + "; another job or program has it, so choose another port by "
                                    + "HVD_RENDEZVOUS=host:port, above 1023 unless you are root",
                            e);
                }
                if (!told) {
                    told = true;
                    LOG.warn("{}; it tries for {} s, as HOROVOD_START_TIMEOUT says", why, limit.toSeconds());
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private static List<ServerSocketChannel> bound(Set<InetAddress> addresses, List<Integer> ports) throws IOException {
        for (int port : ports.subList(0, ports.size() - 1)) {
            try {
                return bound(addresses, port);
            } catch (BindException e) {
                // The next one may be free.
            }
        }
        return bound(addresses, ports.get(ports.size() - 1));
    }

    private static List<ServerSocketChannel> bound(Set<InetAddress> addresses, int port) throws IOException {
        List<ServerSocketChannel> sockets = new ArrayList<>();
        try {
            for (InetAddress address : addresses) {
                sockets.add(HandshakeListener.bind(new InetSocketAddress(address, port)));
            }
            return sockets;
        } catch (IOException e) {
            for (ServerSocketChannel socket : sockets) {
                socket.close();
            }
            throw e;
        }
    }

    /** What the names mean now, because they may get their addresses late. */
    @Override
    public List<InetSocketAddress> addresses() {
        return own.map(one -> List.of(one.address()))
                .orElseGet(() -> there.hosts().stream()
                        .flatMap(host -> there.ports().stream().map(port -> new InetSocketAddress(host, port)))
                        .toList());
    }

    @Override
    public byte[] secret() {
        return secret;
    }

    @Override
    public void close() {
        own.ifPresent(one -> one.server().close());
    }
}
