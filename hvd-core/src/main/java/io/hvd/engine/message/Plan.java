package io.hvd.engine.message;

import java.util.List;
import java.util.Optional;

/**
 * The coordinator's decisions for one process set, the same for every member: what to carry out next, in this order.
 *
 * @param set the number of the process set
 * @param batches possibly none
 * @param lock names of the operations, batch by batch, that the ranks carry out again and again from now on without a
 *     plan; empty for none
 * @param stop true when every rank has closed its context, and once more when no rank has anything left to do
 * @param failure why the job cannot go on, or empty
 * @param tuning settings that hold from this plan on; empty if none change
 */
public record Plan(
        int set, List<Batch> batches, List<List<String>> lock, boolean stop, String failure, Optional<Tuning> tuning) {
    public Plan {
        batches = List.copyOf(batches);
        lock = List.copyOf(lock);
    }

    public Plan(int set, List<Batch> batches, List<List<String>> lock, boolean stop, String failure) {
        this(set, batches, lock, stop, failure, Optional.empty());
    }

    public static Plan failed(String why) {
        return new Plan(0, List.of(), List.of(), false, why);
    }

    public static Plan stopping() {
        return new Plan(0, List.of(), List.of(), true, "");
    }

    public boolean isEmpty() {
        return batches.isEmpty() && lock.isEmpty() && !stop && failure.isEmpty() && tuning.isEmpty();
    }

    public Plan with(Optional<Tuning> itsTuning) {
        return new Plan(set, batches, lock, stop, failure, itsTuning);
    }

    /**
     * An operation of an allreduce.
     *
     * @param number the request's number in the response cache if every rank has asked for the same as before, else -1
     */
    public record Op(String name, int number) {
        public static final int UNKNOWN = -1;

        public static Op named(String name) {
            return new Op(name, UNKNOWN);
        }

        public boolean isKnown() {
            return number != UNKNOWN;
        }
    }
}
