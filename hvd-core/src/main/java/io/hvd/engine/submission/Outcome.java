package io.hvd.engine.submission;

import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The result of a collective on one rank.
 *
 * @param tensor the output; null where there is none, as on the other ranks of a reduce
 * @param received number of rows from each rank, after an alltoall
 * @param number the last rank that joined, or the number of a process set that has been added or removed
 */
public record Outcome(Tensor tensor, List<Long> received, int number) {
    public static final Outcome NOTHING = new Outcome(null, List.of(), 0);

    public static Outcome of(Tensor tensor) {
        return new Outcome(tensor, List.of(), 0);
    }

    public static Outcome of(int number) {
        return new Outcome(null, List.of(), number);
    }
}
