package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.RankSet;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.tensor.JoinDivisor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The ranks that have run out of data. Until all ranks have, the others need not wait for them. */
final class Joining {
    private final List<Integer> members;
    /** The requests by rank within the set, in the order in which the ranks joined. */
    private final Map<Integer, Request.Join> joined = new LinkedHashMap<>();

    private int last;
    private String conflict = "";
    /** Whether the join fails before all ranks have called it. */
    private boolean endsEarly;

    Joining(List<Integer> members) {
        this.members = members;
    }

    void join(int rank, Request.Join request) {
        joined.put(rank, request);
        last = members.get(rank);
        long ways =
                joined.values().stream().map(Request.Join::divisor).distinct().count();
        if (ways > 1) {
            List<Request> byRank = new ArrayList<>(Collections.nCopies(members.size(), null));
            joined.forEach(byRank::set);
            conflict = Mismatch.find(byRank, members).orElse("");
        }
    }

    Set<Integer> joined() {
        return joined.keySet();
    }

    /**
     * The number by which an average is divided: all members or, if the join asks for it, the ranks that have asked, of
     * which some may have joined afterwards.
     */
    int divisor(Tally tally) {
        if (joined.isEmpty()) {
            return members.size();
        }
        JoinDivisor divisor = joined.values().iterator().next().divisor();
        return divisor == JoinDivisor.ACTIVE ? tally.asked() : members.size();
    }

    /**
     * Why an operation cannot go on, if it cannot. A rank may be missing only where neutral elements can stand in for
     * it; a rank that asked before it joined is not missing.
     */
    Optional<String> refuses(Tally tally) {
        Request first = tally.first();
        boolean served = servesSome(first);
        if (tally.missing().isEmpty()) {
            return Optional.empty();
        }
        if (served && conflict.isEmpty() && isWithoutDivisor()) {
            endsEarly = true;
            conflict = "ranks " + globalRanks() + " have joined with JoinDivisor.NONE, while other ranks went on with "
                    + first.kind() + " of \"" + first.name() + "\"";
        } else if (served && conflict.isEmpty()) {
            return Optional.empty();
        }
        if (served) {
            return Optional.of("tensor \"" + first.name() + "\": " + first.kind()
                    + " cannot go on beside a join that has failed: " + conflict);
        }
        return Optional.of("tensor \"" + first.name() + "\": " + first.kind() + place(first)
                + " cannot do without ranks " + globalRanks()
                + ", which have joined; only allreduce can. Sparse gradients travel by allgather:"
                + " let them travel as dense ones (sparseAsDense)");
    }

    private boolean isWithoutDivisor() {
        return joined.values().iterator().next().divisor() == JoinDivisor.NONE;
    }

    private String globalRanks() {
        TreeSet<Integer> ranks = new TreeSet<>();
        joined.keySet().forEach(rank -> ranks.add(members.get(rank)));
        return RankSet.format(ranks);
    }

    private static boolean servesSome(Request request) {
        return request instanceof Request.Barrier || request instanceof Reducing.Allreduce;
    }

    private static String place(Request request) {
        return request instanceof Request.OfTensor tensor
                ? " on " + tensor.payload().place()
                : "";
    }

    /**
     * A join that waits for a rank which has closed ends here with its refusal: such a rank joins no more.
     *
     * @param closed the ranks that have closed, by their numbers within the set
     */
    Optional<Batch.Refusal> withoutClosed(Set<Integer> closed) {
        List<Integer> gone =
                closed.stream().filter(rank -> !joined.containsKey(rank)).toList();
        if (joined.isEmpty() || gone.isEmpty()) {
            return Optional.empty();
        }
        String name = joined.values().iterator().next().name();
        String why = "join \"" + name + "\" can never be complete: ranks "
                + RankSet.format(gone.stream().map(members::get).toList())
                + " have closed their context without joining; every rank calls join() before it closes";
        return Optional.of(refused(name, Batch.Reason.RANK_GONE, why));
    }

    /** The end of a join, when all ranks have joined or it ends early: its result, or its refusal. */
    Optional<Batch> finished() {
        if (joined.size() < members.size() && !endsEarly) {
            return Optional.empty();
        }
        String name = joined.values().iterator().next().name();
        if (!conflict.isEmpty()) {
            return Optional.of(refused(name, Batch.Reason.MISMATCH, conflict));
        }
        forget();
        return Optional.of(new Batch.Join(name, last));
    }

    private Batch.Refusal refused(String name, Batch.Reason reason, String why) {
        Batch.Refusal refusal = new Batch.Refusal(name, reason, why, List.copyOf(joined.keySet()));
        forget();
        return refusal;
    }

    private void forget() {
        joined.clear();
        conflict = "";
        endsEarly = false;
    }
}
