package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

/** Peers that are threads of one JVM and exchange their data through a directory object that they share. */
final class SharedPeers implements Peers {
    private final Directory directory;
    private final int self;
    private volatile boolean closed;

    private SharedPeers(Directory directory, int self) {
        this.directory = directory;
        this.self = self;
    }

    /** Makes the peers of all ranks of a job; each rank uses its own. */
    public static List<Peers> ofThreads(int size, String host) {
        List<RankProcess> members = IntStream.range(0, size)
                .mapToObj(rank -> RankProcess.ofThisProcess(rank, host))
                .toList();
        Directory directory = new Directory(members, new ConcurrentHashMap<>(), new ConcurrentHashMap<>());
        List<Peers> peers = new ArrayList<>();
        members.forEach(member -> peers.add(new SharedPeers(directory, member.rank())));
        return List.copyOf(peers);
    }

    @Override
    public int self() {
        return self;
    }

    @Override
    public List<RankProcess> members() {
        return directory.members;
    }

    /** One process may have several such jobs. */
    @Override
    public String job() {
        return Peers.super.job() + "#" + Integer.toHexString(System.identityHashCode(directory));
    }

    @Override
    public void serve(Respondent respondent) {
        directory.respondents.put(self, respondent);
    }

    /** Checks after the put whether another thread has called close() meanwhile, which must win. */
    @Override
    public void publish(Activity activity) {
        directory.heartbeats.put(self, new Heard(activity, System.nanoTime()));
        if (closed) {
            directory.heartbeats.remove(self);
        }
    }

    @Override
    public Map<Integer, Heard> heard() {
        Map<Integer, Heard> others = new TreeMap<>(directory.heartbeats);
        others.remove(self);
        return others;
    }

    @Override
    public Map<Integer, LiveReport> reports(Collection<Integer> ranks, Duration limit) {
        Map<Integer, LiveReport> answers = new TreeMap<>();
        for (int rank : ranks) {
            Respondent respondent = directory.respondents.get(rank);
            if (respondent != null) {
                answers.put(rank, respondent.report());
            }
        }
        return answers;
    }

    @Override
    public ProcessState stateOf(RankProcess suspect, int witness, Duration limit) {
        return ProcessState.of(suspect);
    }

    @Override
    public boolean reaches(int rank, Duration limit) {
        return true; // threads of one process share its host
    }

    @Override
    public void end(HangReport report, Collection<Integer> ranks, Duration limit) {
        for (int rank : ranks) {
            Respondent respondent = directory.respondents.get(rank);
            if (respondent != null) {
                respondent.end(report);
            }
        }
    }

    @Override
    public void giveUp(String why, Collection<Integer> ranks, Duration limit) {
        for (int rank : ranks) {
            Respondent respondent = directory.respondents.get(rank);
            if (respondent != null) {
                respondent.givenUp(why);
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        directory.respondents.remove(self);
        directory.heartbeats.remove(self);
    }

    private record Directory(
            List<RankProcess> members, Map<Integer, Respondent> respondents, Map<Integer, Heard> heartbeats) {}
}
