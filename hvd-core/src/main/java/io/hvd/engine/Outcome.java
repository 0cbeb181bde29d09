package io.hvd.engine;

import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * What a collective brings to one rank.
 *
 * @param tensor the output; null where there is none, as on the other ranks of a reduce to one
 * @param received rows from each rank, after an alltoall
 * @param number the last rank that joined, or the number of a new process set
 */
public record Outcome(Tensor tensor, List<Long> received, int number) {
    static final Outcome NOTHING = new Outcome(null, List.of(), 0);

    static Outcome of(Tensor tensor) {
        return new Outcome(tensor, List.of(), 0);
    }

    static Outcome of(int number) {
        return new Outcome(null, List.of(), number);
    }
}
