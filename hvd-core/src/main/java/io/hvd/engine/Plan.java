package io.hvd.engine;

import io.hvd.tensor.ReduceOp;
import java.util.List;

/**
 * The coordinator's decision for one process set, the same for every member: what to carry out next,
 * in this order.
 *
 * @param set number of the process set
 * @param batches possibly none
 * @param lock batches that from now on are carried out again and again without a plan; empty for none
 * @param stop true when every rank has closed its context, and once more when nothing is left to be done on any of them
 * @param failure why the job cannot go on, or empty
 */
public record Plan(int set, List<Batch> batches, List<List<String>> lock, boolean stop, String failure) {
    public Plan {
        batches = List.copyOf(batches);
        lock = List.copyOf(lock);
    }

    static Plan failed(String why) {
        return new Plan(0, List.of(), List.of(), false, why);
    }

    static Plan stopping() {
        return new Plan(0, List.of(), List.of(), true, "");
    }

    boolean isEmpty() {
        return batches.isEmpty() && lock.isEmpty() && !stop && failure.isEmpty();
    }

    /**
     * An operation in a batch.
     *
     * @param number of the request in the response cache if every rank has asked for the same as before, else -1
     */
    public record Op(String name, int number) {
        static final int UNKNOWN = -1;

        static Op named(String name) {
            return new Op(name, UNKNOWN);
        }

        boolean isKnown() {
            return number != UNKNOWN;
        }
    }

    /**
     * Operations that are carried out as one.
     *
     * @param ops in the order in which the tensors travel
     * @param verdict whether the ranks agree
     * @param error what is wrong if they do not, or empty
     * @param sizes rows that each rank brings to an allgather or gather; rows from each rank to each rank
     *     of an alltoall, senders first; the last rank that joined; the number of a new process set; ranks
     *     within the set that a refusal is for
     * @param templates one request per operation where some rank has not made it: for those that have joined,
     *     or that wait for a scatter
     * @param divisor what an average is divided by
     * @param remember true if the response cache takes the requests in
     */
    public record Batch(
            List<Op> ops,
            Verdict verdict,
            String error,
            List<Long> sizes,
            List<Request> templates,
            int divisor,
            boolean remember) {
        public Batch {
            ops = List.copyOf(ops);
            sizes = List.copyOf(sizes);
            templates = List.copyOf(templates);
        }

        /** @param askers ranks that it is said to; another may have asked for something new by this name meanwhile */
        static Batch refuse(String name, Verdict verdict, String error, List<Integer> askers) {
            List<Long> ranks = askers.stream().map(Integer::longValue).toList();
            return new Batch(List.of(Op.named(name)), verdict, error, ranks, List.of(), 1, false);
        }

        boolean isRefusal() {
            return verdict != Verdict.RUN && verdict != Verdict.RUN_IF_ASKED;
        }

        Batch withOps(List<Op> changed) {
            return new Batch(changed, verdict, error, sizes, templates, divisor, remember);
        }

        Batch withSizes(List<Long> found) {
            return new Batch(ops, verdict, error, found, templates, divisor, remember);
        }

        List<String> names() {
            return ops.stream().map(Op::name).toList();
        }

        int divisorFor(Request request) {
            return request.how().op() == ReduceOp.AVERAGE ? divisor : 1;
        }
    }

    /** What becomes of a batch. */
    public enum Verdict {
        RUN,
        /** Runs on those who have asked for it, and is none of the others' business: a transfer. */
        RUN_IF_ASKED,
        MISMATCH,
        BAD_ARGUMENT,
        TIMED_OUT,
        RANK_GONE;

        private static final Verdict[] ALL = values();

        static Verdict of(int ordinal) {
            return ALL[ordinal];
        }
    }
}
