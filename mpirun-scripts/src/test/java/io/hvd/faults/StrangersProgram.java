package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Adds up ones on all ranks until a file is there, and some more, and says that it went right. */
public final class StrangersProgram {
    private static final int LEAST_STEPS = 50;

    private StrangersProgram() {}

    /**
     * The file, then a folder in which each process leaves one that is named by its number; as a third word the number of
     * ranks that each process has as threads.
     */
    public static void main(String[] args) throws Exception {
        if (args.length > 2) {
            Hvd.spawn(Integer.parseInt(args[2]), hvd -> addUp(hvd, args));
            return;
        }
        try (HvdContext hvd = Hvd.init()) {
            addUp(hvd, args);
        }
    }

    private static int addUp(HvdContext hvd, String[] args) throws IOException {
        Files.write(Path.of(args[1], "" + ProcessHandle.current().pid()), new byte[0]);
        int steps = 0;
        boolean over = false;
        while (!over) {
            // A name of its own each time, so that the ranks have to agree on every step.
            require(sum(hvd, "step" + steps, 1) == hvd.size());
            boolean may = Files.exists(Path.of(args[0])) && steps >= LEAST_STEPS;
            over = sum(hvd, "over" + steps++, may ? 1 : 0) > 0;
        }
        System.out.println("rank " + hvd.rank() + " all right in many steps");
        return steps;
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
