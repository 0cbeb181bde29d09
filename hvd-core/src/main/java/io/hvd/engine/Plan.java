package io.hvd.engine;

import java.util.List;

/**
 * The coordinator's decision, the same for every rank: what to carry out next, in this order.
 *
 * @param batches possibly none
 * @param stop true when every rank has closed its context
 * @param failure why the job cannot go on, or empty
 */
public record Plan(List<Batch> batches, boolean stop, String failure) {
    public Plan {
        batches = List.copyOf(batches);
    }

    boolean isEmpty() {
        return batches.isEmpty() && !stop && failure.isEmpty();
    }

    /**
     * Operations that are carried out as one.
     *
     * @param names in the order in which the tensors travel
     * @param verdict whether the ranks agree
     * @param error what is wrong if they do not, or empty
     * @param firstDims for an allgather, the first dimension that each rank brings
     */
    public record Batch(List<String> names, Verdict verdict, String error, List<Long> firstDims) {
        public Batch {
            names = List.copyOf(names);
            firstDims = List.copyOf(firstDims);
        }

        static Batch run(List<String> names) {
            return new Batch(names, Verdict.RUN, "", List.of());
        }

        static Batch gather(String name, List<Long> firstDims) {
            return new Batch(List.of(name), Verdict.RUN, "", firstDims);
        }

        static Batch refuse(String name, Verdict verdict, String error) {
            return new Batch(List.of(name), verdict, error, List.of());
        }
    }

    /** What becomes of a batch. */
    public enum Verdict {
        RUN,
        MISMATCH,
        RANK_GONE;

        private static final Verdict[] ALL = values();

        static Verdict of(int ordinal) {
            return ALL[ordinal];
        }
    }
}
