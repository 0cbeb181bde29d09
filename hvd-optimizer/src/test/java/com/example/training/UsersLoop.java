package com.example.training;

import io.hvd.optimizer.Optimizer;

/** Loops of a program, in a package that messages take for the user's. */
public final class UsersLoop {
    private UsersLoop() {}

    /** Makes steps without clearing gradients. */
    public static void steps(int count, Runnable backward, Optimizer optimizer) {
        for (int step = 0; step < count; step++) {
            backward.run();
            optimizer.step();
        }
    }

    /** Goes through data several times. */
    public static void epochs(int count, Iterable<?> data) {
        for (int epoch = 0; epoch < count; epoch++) {
            for (Object batch : data) {
                java.util.Objects.requireNonNull(batch);
            }
        }
    }
}
