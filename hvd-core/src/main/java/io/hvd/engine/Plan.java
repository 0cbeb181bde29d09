package io.hvd.engine;

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
record Plan(int set, List<Batch> batches, List<List<String>> lock, boolean stop, String failure) {
    Plan {
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
     * An operation of an allreduce.
     *
     * @param number of the request in the response cache if every rank has asked for the same as before, else -1
     */
    record Op(String name, int number) {
        static final int UNKNOWN = -1;

        static Op named(String name) {
            return new Op(name, UNKNOWN);
        }

        boolean isKnown() {
            return number != UNKNOWN;
        }
    }
}
