package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import io.hvd.net.Encryption;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.net.PortRange;
import io.hvd.net.StartupExchange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Peers that are processes. Signs of life are datagrams; for each question a connection is made and closed after the
 * answer, so that a stuck rank holds up no other one.
 */
final class SocketPeers implements Peers {
    /**
     * The number of ranks up to which every rank hears every other one; in larger jobs only the lowest ranks, among
     * which the reporter is, hear all.
     */
    private static final int MOST_LISTENERS = 32;

    private static final int FEW_CALLS = 1;

    private final int self;
    private final List<Introduction> all;
    private final List<RankProcess> members;
    private final MonitorSockets sockets;
    private final MessageAuthentication authentication;
    private final QuestionSender questions;
    private final Map<Integer, Heard> heard = new ConcurrentHashMap<>();
    private final LatestBeats latest = new LatestBeats();
    private final AtomicLong heartbeats = new AtomicLong();

    private SocketPeers(int self, List<Introduction> all, MonitorSockets sockets, Encryption encryption) {
        this.self = self;
        this.all = all;
        this.members = all.stream().map(Introduction::member).toList();
        this.sockets = sockets;
        this.authentication =
                MessageAuthentication.of(all.stream().map(Introduction::share).toList());
        this.questions = new QuestionSender("hvd-monitor-" + self + "-asks", all, authentication, encryption);
    }

    /** The address at which the other ranks reach this host. */
    public interface Reachable {
        InetAddress address() throws IOException;
    }

    /** @param exchange gives every rank the bytes of all ranks, by rank */
    public static SocketPeers connect(
            RankProcess self,
            Reachable host,
            PortRange ports,
            Encryption encryption,
            Function<byte[], List<byte[]>> exchange) {
        MonitorSockets[] sockets = new MonitorSockets[1];
        try {
            List<byte[]> told = StartupExchange.hold(
                    "rank " + self.rank() + " (" + self.host() + ") could not open its monitor's sockets",
                    () -> {
                        sockets[0] = MonitorSockets.open(host.address(), ports, encryption);
                        return new Introduction(
                                        self,
                                        sockets[0].questions(),
                                        sockets[0].heartbeats(),
                                        MessageAuthentication.share())
                                .encode();
                    },
                    exchange);
            return new SocketPeers(
                    self.rank(), told.stream().map(Introduction::decode).toList(), sockets[0], encryption);
        } catch (RuntimeException e) {
            if (sockets[0] != null) {
                sockets[0].close();
            }
            throw e;
        }
    }

    @Override
    public int self() {
        return self;
    }

    @Override
    public List<RankProcess> members() {
        return members;
    }

    /** The addresses at which all ranks receive questions, by rank. */
    List<InetSocketAddress> questions() {
        return all.stream().map(Introduction::questions).toList();
    }

    @Override
    public void serve(Respondent respondent) {
        sockets.serve(
                "hvd-monitor-" + self, authentication.password(), this::hear, signed -> answer(signed, respondent));
    }

    @Override
    public void publish(Activity activity) {
        long number = heartbeats.incrementAndGet();
        byte[] signed = heartbeat(number, activity);
        if (signed.length > MonitorSockets.DATAGRAM_BYTES) {
            signed = heartbeat(number, activity.brief(FEW_CALLS));
        }
        for (Introduction other : all.subList(0, Math.min(MOST_LISTENERS, all.size()))) {
            if (other.member().rank() != self) {
                sockets.send(signed, other.heartbeats());
            }
        }
    }

    private byte[] heartbeat(long number, Activity activity) {
        return authentication.sign(MessageWriter.encode(out -> new Heartbeat(self, number, activity).encode(out)));
    }

    /** Receives a datagram, on the one thread for datagrams. */
    private void hear(byte[] signed) {
        Optional<byte[]> message = authentication.verify(signed);
        if (message.isEmpty()) {
            return;
        }
        Heartbeat heartbeat = MessageReader.decode("a sign of life", message.get(), Heartbeat::decode);
        if (latest.isNews(heartbeat.rank(), heartbeat.number())) {
            heard.put(heartbeat.rank(), new Heard(heartbeat.activity(), System.nanoTime()));
        }
    }

    @Override
    public Map<Integer, Heard> heard() {
        return new TreeMap<>(heard);
    }

    private Optional<byte[]> answer(byte[] signed, Respondent respondent) {
        Optional<byte[]> question = authentication.verify(signed);
        if (question.isEmpty()) {
            return Optional.empty();
        }
        PeerQuestion asked = MessageReader.decode("a question between monitors", question.get(), PeerQuestion::decode);
        return Optional.of(authentication.sign(answer(asked, respondent)));
    }

    private byte[] answer(PeerQuestion question, Respondent respondent) {
        if (question instanceof PeerQuestion.End end) {
            respondent.end(end.report());
            return MessageWriter.encode(out -> out.writeBoolean(true));
        }
        if (question instanceof PeerQuestion.GivenUp givenUp) {
            respondent.givenUp(givenUp.why());
            return MessageWriter.encode(out -> out.writeBoolean(true));
        }
        if (question instanceof PeerQuestion.State state) {
            ProcessState found = ProcessState.of(members.get(state.suspect()));
            return MessageWriter.encode(out -> out.writeEnum(found));
        }
        return MessageWriter.encode(out -> MonitorCodec.report(out, respondent.report()));
    }

    @Override
    public Map<Integer, LiveReport> reports(Collection<Integer> ranks, Duration limit) {
        return questions.ask(ranks, limit, new PeerQuestion.Report(), MonitorCodec::report);
    }

    @Override
    public ProcessState stateOf(RankProcess suspect, int witness, Duration limit) {
        return questions
                .ask(
                        List.of(witness),
                        limit,
                        new PeerQuestion.State(suspect.rank()),
                        in -> in.readEnum(ProcessState.class))
                .getOrDefault(witness, ProcessState.UNKNOWN);
    }

    /**
     * Connects to the rank's host. A host that is there accepts or refuses at once; only silence, or a router's
     * message, means that it is not.
     */
    @Override
    public boolean reaches(int rank, Duration limit) {
        try (Socket call = new Socket()) {
            call.connect(all.get(rank).questions(), (int) limit.toMillis());
            return true;
        } catch (SocketTimeoutException | NoRouteToHostException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    @Override
    public void end(HangReport report, Collection<Integer> ranks, Duration limit) {
        questions.ask(ranks, limit, new PeerQuestion.End(report), MessageReader::readBoolean);
    }

    @Override
    public void giveUp(String why, Collection<Integer> ranks, Duration limit) {
        questions.ask(ranks, limit, new PeerQuestion.GivenUp(why), MessageReader::readBoolean);
    }

    @Override
    public void close() {
        sockets.close();
    }
}
