package io.hvd.cost;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;

/** A rank that says what it has joined with. */
public final class CostModelProgram {
    private CostModelProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            Tensor average = hvd.allreduce("one", Tensor.of(hvd.rank() + 1f));
            System.out.println("rank " + hvd.rank() + " average " + average.item() + " by " + hvd.backend());
        }
    }
}
