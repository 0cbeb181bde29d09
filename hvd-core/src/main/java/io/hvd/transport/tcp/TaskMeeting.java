package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.Secret;
import io.hvd.config.Setting;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.net.LauncherAddress;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.net.StartupExchange;
import io.hvd.rendezvous.RendezvousServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The rendezvous of ranks that a cluster's scheduler has started: rank 0 listens at ports that the system chooses, and the
 * scheduler tells the others where. The scheduler never sees the secret.
 */
public final class TaskMeeting implements AutoCloseable {
    /** Stand for a job of more than one host, which a rank knows only later. */
    private static final List<Integer> TWO_NODES = List.of(0, 1);

    private final Map<String, String> variables;
    /** Empty on the other ranks. */
    private final Optional<RendezvousServer> server;

    private TaskMeeting(Map<String, String> variables, Optional<RendezvousServer> server) {
        this.variables = variables;
        this.server = server;
    }

    /** The scheduler's way between the ranks: gives every rank the words of all. */
    public interface Exchange {
        List<String> all(String mine) throws Exception;
    }

    /** A rank that is alone meets nobody. */
    public static TaskMeeting ofNobody() {
        return new TaskMeeting(Map.of(), Optional.empty());
    }

    /**
     * Opens rank 0's rendezvous and tells it to the others; all ranks call it together.
     *
     * @param secret known to the ranks of this job alone, of any length
     * @throws HvdException on all ranks if rank 0 cannot listen, and on a rank that cannot reach it
     * @throws Exception that the exchange has thrown
     */
    public static TaskMeeting hold(int rank, byte[] secret, Exchange exchange, HvdConfig config) throws Exception {
        byte[] proof = Secret.of(HexFormat.of().formatHex(secret)).bytes(HandshakeListener.SECRET_BYTES);
        List<ServerSocketChannel> sockets = new ArrayList<>();
        try {
            List<Where> told = told(rank, sockets, exchange, config);
            String address = told.get(0).seenFrom(HostAddress.node(), rank, proof);
            Optional<RendezvousServer> server =
                    rank == 0 ? Optional.of(MeetingPlace.serve(sockets, told.size(), proof, config)) : Optional.empty();
            return new TaskMeeting(Map.of(Setting.RENDEZVOUS.variable(), RankPlace.LAUNCHER + address), server);
        } catch (Exception e) {
            for (ServerSocketChannel socket : sockets) {
                socket.close();
            }
            throw e;
        }
    }

    private static List<Where> told(int rank, List<ServerSocketChannel> sockets, Exchange exchange, HvdConfig config)
            throws Exception {
        try {
            return StartupExchange.hold(
                            "rank " + rank + " (" + HostAddress.localName() + ") cannot let the other ranks meet",
                            () -> rank == 0 ? listening(sockets, config).encode() : Where.NOWHERE.encode(),
                            mine -> exchanged(mine, exchange))
                    .stream()
                    .map(Where::decode)
                    .toList();
        } catch (ExchangeFailure e) {
            throw e.known;
        }
    }

    /** The loopback serves the ranks of this host, which may have no other address. */
    private static Where listening(List<ServerSocketChannel> sockets, HvdConfig config) throws IOException {
        sockets.add(HandshakeListener.bind(
                InetAddress.getLoopbackAddress(), config.control().ports()));
        try {
            InetAddress outward = HostAddress.of(TWO_NODES, config.control().networkInterface());
            if (!outward.isLoopbackAddress()) {
                sockets.add(HandshakeListener.bind(outward, config.control().ports()));
            }
        } catch (IOException e) {
            if (config.control().networkInterface().isPresent()) {
                throw e;
            } // else ranks of other hosts will say so
        }
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel socket : sockets) {
            addresses.add((InetSocketAddress) socket.getLocalAddress());
        }
        return new Where(HostAddress.node(), HostAddress.localName(), addresses);
    }

    private static List<byte[]> exchanged(byte[] mine, Exchange exchange) {
        try {
            return exchange.all(Base64.getEncoder().encodeToString(mine)).stream()
                    .map(Base64.getDecoder()::decode)
                    .toList();
        } catch (Exception e) {
            throw new ExchangeFailure(e);
        }
    }

    /** Carries what the scheduler's exchange has thrown. */
    private static final class ExchangeFailure extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final Exception known;

        ExchangeFailure(Exception known) {
            super(known);
            this.known = known;
        }
    }

    /** Variables that tell this rank where the others are. */
    public Map<String, String> variables() {
        return variables;
    }

    /** Nobody else meets here; ranks that have met go on. */
    @Override
    public void close() {
        server.ifPresent(RendezvousServer::close);
    }

    /**
     * Where a rank listens.
     *
     * @param node of the rank, as {@link HostAddress#node} names it
     * @param host its name
     */
    private record Where(String node, String host, List<InetSocketAddress> addresses) {
        static final Where NOWHERE = new Where("", "", List.of());

        byte[] encode() {
            return MessageWriter.encode(out -> {
                out.writeText(node);
                out.writeText(host);
                out.writeList(addresses, MessageWriter::writeSocketAddress);
            });
        }

        static Where decode(byte[] bytes) {
            return MessageReader.decode(
                    "where rank 0 listens",
                    bytes,
                    in -> new Where(in.readText(), in.readText(), in.readList(MessageReader::readSocketAddress)));
        }

        /** The addresses that mean this rank's host on another one, as a launcher would tell them. */
        String seenFrom(String there, int rank, byte[] proof) {
            List<InetSocketAddress> reached = addresses.stream()
                    .filter(one -> node.equals(there) || !one.getAddress().isLoopbackAddress())
                    .toList();
            if (reached.isEmpty()) {
                throw new HvdException(
                        ErrorId.INIT_FAILED,
                        "rank " + rank + " (" + HostAddress.localName() + ") cannot reach rank 0, whose host " + host
                                + " has no network interface that leads out of it; HOROVOD_GLOO_IFACE names one");
            }
            return new LauncherAddress(HexFormat.of().formatHex(proof), reached).encode();
        }
    }
}
