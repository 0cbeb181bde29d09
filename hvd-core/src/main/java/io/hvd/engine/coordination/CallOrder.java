package io.hvd.engine.coordination;

import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Moving;
import io.hvd.engine.message.RankSet;
import io.hvd.engine.message.Request;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Strict mode: the ranks must call the same collectives in the same order. A call may be negotiated once all ranks have
 * made the same call at the same place. Where they differ, an error names the first such place and the lines of the
 * program.
 */
final class CallOrder {
    private final List<Integer> members;
    private final List<Deque<Call>> calls = new ArrayList<>();
    private final Set<Integer> joined = new HashSet<>();
    private final Set<Integer> closed = new TreeSet<>();
    private final List<Call> agreed = new ArrayList<>();
    private final List<Refused> refusals = new ArrayList<>();
    private long place;

    CallOrder(List<Integer> members) {
        this.members = members;
        members.forEach(member -> calls.add(new ArrayDeque<>()));
    }

    /** One rank's call. @param site the line that made it */
    record Call(int rank, Request request, String site) {
        boolean isInAnyOrder() {
            return site.equals(Wishes.ANY_PLACE);
        }

        String what() {
            return request.kind() + " of \"" + request.name() + "\"";
        }
    }

    /**
     * The refusal of calls that differ, or of a call that waits for a rank that has closed.
     *
     * @param groups names of the groups that the calls belong to, which can never be complete
     */
    record Refused(Batch.Refusal refusal, Set<String> groups) {
        static Refused of(Batch.Refusal refusal, List<Call> calls) {
            Set<String> groups = new TreeSet<>();
            calls.stream()
                    .map(call -> call.request().group())
                    .filter(group -> !group.isNone())
                    .forEach(group -> groups.add(group.name()));
            return new Refused(refusal, groups);
        }
    }

    void called(int rank, Request request, String site) {
        Call call = new Call(rank, request, site);
        if (call.isInAnyOrder() || request instanceof Moving.Transfer || request.hasLimit()) {
            // Such calls meet by their names; a transfer concerns two ranks only; a barrier with a limit ends without
            // them.
            agreed.add(call);
        } else if (request instanceof Request.Join) {
            agreed.add(call);
            joined.add(rank);
        } else {
            calls.get(rank).add(call);
        }
        compareHeads();
    }

    /** All ranks have joined, or the join has failed: every rank's calls count again. */
    void joinEnded() {
        joined.clear();
    }

    /** A rank makes no more calls. */
    void close(int rank) {
        closed.add(rank);
        compareHeads();
    }

    /** Removes and returns the calls that may be negotiated now. */
    List<Call> agreed() {
        List<Call> due = List.copyOf(agreed);
        agreed.clear();
        return due;
    }

    /** Removes and returns the refusals of calls that differ, or that wait for ranks that have closed. */
    List<Refused> refusals() {
        List<Refused> due = List.copyOf(refusals);
        refusals.clear();
        return due;
    }

    private void compareHeads() {
        while (isComplete()) {
            place++;
            List<Call> heads = new ArrayList<>();
            calls.stream().filter(queue -> !queue.isEmpty()).forEach(queue -> heads.add(queue.remove()));
            if (heads.stream().map(Call::what).distinct().count() == 1) {
                agreed.addAll(heads);
            } else {
                refuse(heads);
            }
        }
        refuseWhatWaitsForClosedRanks();
    }

    private void refuseWhatWaitsForClosedRanks() {
        List<Integer> gone = closed.stream()
                .filter(rank -> calls.get(rank).isEmpty())
                .map(members::get)
                .toList();
        if (gone.isEmpty()) {
            return;
        }
        for (Deque<Call> queue : calls) {
            queue.forEach(call -> refusals.add(Refused.of(
                    new Batch.Refusal(
                            call.request().name(),
                            Batch.Reason.RANK_GONE,
                            call.what() + " at " + call.site() + " can never be complete: ranks " + RankSet.format(gone)
                                    + " have closed their context without calling it; a rank that has fewer steps than the"
                                    + " others calls join() before it closes",
                            List.of(call.rank())),
                    List.of(call))));
            queue.clear();
        }
    }

    private boolean isComplete() {
        boolean any = false;
        for (int rank = 0; rank < calls.size(); rank++) {
            if (!calls.get(rank).isEmpty()) {
                any = true;
            } else if (!joined.contains(rank)) {
                return false;
            }
        }
        return any;
    }

    private void refuse(List<Call> heads) {
        Map<String, Set<Integer>> ranksByCall = new LinkedHashMap<>();
        heads.forEach(call -> ranksByCall
                .computeIfAbsent(call.what() + " at " + call.site(), text -> new TreeSet<>())
                .add(members.get(call.rank())));
        StringBuilder text = new StringBuilder();
        ranksByCall.forEach((call, ranks) -> text.append(text.isEmpty() ? "" : "; ")
                .append(call)
                .append(" on ranks ")
                .append(RankSet.format(ranks)));
        String error = "strict mode: the ranks' sequences of collectives first differ at call " + place + ": " + text;
        Map<String, List<Call>> askers = new LinkedHashMap<>();
        heads.forEach(call -> askers.computeIfAbsent(call.request().name(), name -> new ArrayList<>())
                .add(call));
        askers.forEach((name, callers) -> {
            List<Integer> ranks = callers.stream().map(Call::rank).toList();
            refusals.add(Refused.of(new Batch.Refusal(name, Batch.Reason.MISMATCH, error, ranks), callers));
        });
    }
}
