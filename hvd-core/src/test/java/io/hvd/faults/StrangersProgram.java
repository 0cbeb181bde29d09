package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;

/** Adds up ones on all ranks until a file is there, and some more, and says that it went right. */
public final class StrangersProgram {
    private static final int LEAST_STEPS = 50;

    private StrangersProgram() {}

    /** The file, then a folder in which each rank leaves one that is named by its process. */
    public static void main(String[] args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            Files.createFile(Path.of(args[1], "" + ProcessHandle.current().pid()));
            int steps = 0;
            boolean over = false;
            while (!over) {
                // A name of its own each time, so that the ranks have to agree on every step.
                require(sum(hvd, "step" + steps, 1) == hvd.size());
                boolean may = Files.exists(Path.of(args[0])) && steps >= LEAST_STEPS;
                over = sum(hvd, "over" + steps++, may ? 1 : 0) > 0;
            }
            System.out.println("rank " + hvd.rank() + " all right in many steps");
        }
    }

    private static float sum(HvdContext hvd, String name, float mine) {
        return hvd.allreduce(name, Tensor.of(mine), AllreduceOptions.sum()).item();
    }

    private static void require(boolean right) {
        if (!right) {
            throw new IllegalStateException("a wrong sum");
        }
    }
}
