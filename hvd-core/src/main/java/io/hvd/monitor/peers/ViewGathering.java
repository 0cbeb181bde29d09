package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import io.hvd.monitor.view.RankView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Collects the views of all ranks: the reports of the ranks that answer, and the last signs of life of the others. */
public final class ViewGathering {
    static final Duration ANSWER_LIMIT = Duration.ofSeconds(2);
    private static final Duration WITNESS_LIMIT = Duration.ofMillis(500);

    private final Peers peers;

    public ViewGathering(Peers peers) {
        this.peers = peers;
    }

    /**
     * The views of all ranks. It takes milliseconds, or up to the limit for answers if a rank does not answer.
     *
     * @param asked the ranks that are asked for a report
     */
    public List<RankView> views(LiveReport own, Collection<Integer> asked) {
        Map<Integer, LiveReport> reports = new TreeMap<>(peers.reports(asked, ANSWER_LIMIT));
        reports.put(peers.self(), own);
        Map<Integer, Peers.Heard> heard = peers.heard();
        List<RankView> views = new ArrayList<>();
        for (RankProcess member : peers.members()) {
            LiveReport report = reports.get(member.rank());
            views.add(
                    report != null
                            ? RankView.answering(member, report)
                            : silent(member, heard.get(member.rank()), reports.keySet()));
        }
        return views;
    }

    public List<Integer> others() {
        return peers.members().stream()
                .map(RankProcess::rank)
                .filter(rank -> rank != peers.self())
                .toList();
    }

    private RankView silent(RankProcess suspect, Peers.Heard heard, Collection<Integer> answering) {
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
    private ProcessState stateOf(RankProcess suspect, Collection<Integer> answering) {
        List<RankProcess> members = peers.members();
        if (sameMachine(suspect, members.get(peers.self()))) {
            return ProcessState.of(suspect);
        }
        return answering.stream()
                .filter(rank -> sameMachine(suspect, members.get(rank)))
                .findFirst()
                .map(witness -> peers.stateOf(suspect, witness, WITNESS_LIMIT))
                .orElse(ProcessState.UNKNOWN);
    }

    private static boolean sameMachine(RankProcess one, RankProcess other) {
        return one.machine().equals(other.machine());
    }
}
