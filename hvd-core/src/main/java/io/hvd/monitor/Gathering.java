package io.hvd.monitor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Collects the views of all ranks: the reports of the ranks that answer, and the last signs of life of the others. */
final class Gathering {
    static final Duration ANSWER_LIMIT = Duration.ofSeconds(2);
    private static final Duration WITNESS_LIMIT = Duration.ofMillis(500);

    private final Peers peers;

    Gathering(Peers peers) {
        this.peers = peers;
    }

    /**
     * The views of all ranks. It takes milliseconds, or up to the limit for answers if a rank does not answer.
     *
     * @param asked the ranks that are asked for a report
     */
    List<RankView> views(LiveReport own, Collection<Integer> asked) {
        Map<Integer, LiveReport> reports = new TreeMap<>(peers.reports(asked, ANSWER_LIMIT));
        reports.put(peers.self(), own);
        Map<Integer, Peers.Heard> heard = peers.heard();
        List<RankView> views = new ArrayList<>();
        for (Member member : peers.members()) {
            LiveReport report = reports.get(member.rank());
            views.add(
                    report != null
                            ? RankView.answering(member, report)
                            : silent(member, heard.get(member.rank()), reports.keySet()));
        }
        return views;
    }

    List<Integer> others() {
        return peers.members().stream()
                .map(Member::rank)
                .filter(rank -> rank != peers.self())
                .toList();
    }

    private RankView silent(Member suspect, Peers.Heard heard, Collection<Integer> answering) {
        ProcessState state = stateOf(suspect, answering);
        if (heard == null) {
            return RankView.silent(suspect, state, Activity.UNKNOWN, CallView.NOT_YET);
        }
        long ago = heard.agoMillis();
        return RankView.silent(suspect, state, heard.activity().after(ago), ago);
    }

    /**
     * The state of a rank's process, seen from here if possible, else by a rank that answers and sees the same
     * processes.
     */
    private ProcessState stateOf(Member suspect, Collection<Integer> answering) {
        List<Member> members = peers.members();
        if (sameMachine(suspect, members.get(peers.self()))) {
            return ProcessState.of(suspect);
        }
        return answering.stream()
                .filter(rank -> sameMachine(suspect, members.get(rank)))
                .findFirst()
                .map(witness -> peers.stateOf(suspect, witness, WITNESS_LIMIT))
                .orElse(ProcessState.UNKNOWN);
    }

    private static boolean sameMachine(Member one, Member other) {
        return one.machine().equals(other.machine());
    }
}
