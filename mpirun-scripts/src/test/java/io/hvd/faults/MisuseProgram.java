package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.List;

/** Calls that are wrong on one rank alone, whatever the others do. */
public final class MisuseProgram {
    private static final int UNKNOWN = 7;

    private MisuseProgram() {}

    /** One mistake that nobody catches, or {@code all} those after which the context stays usable, caught. */
    public static void main(String[] args) {
        if (args[0].equals("before-init")) {
            Hvd.rank();
        }
        HvdContext hvd = Hvd.init(InitOptions.standard().withDynamicProcessSets());
        if (args[0].equals("after-shutdown")) {
            Hvd.shutdown();
            hvd.allreduce("late", Tensor.of(1f));
        }
        try (hvd) {
            switch (args[0]) {
                case "duplicate-name" -> submitTwice(hvd);
                case "unknown-set" -> hvd.processSet(UNKNOWN);
                case "all" -> {
                    caught(hvd, () -> submitTwice(hvd));
                    caught(hvd, () -> hvd.processSet(UNKNOWN));
                    caught(hvd, () -> useARemovedSet(hvd));
                }
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
    }

    /** The other ranks join in the first operation only when the second has been tried. */
    private static void submitTwice(HvdContext hvd) {
        Tensor mine = Tensor.of(1f + hvd.rank());
        if (hvd.rank() > 0) {
            hvd.broadcast("tried", Tensor.of(0f), 0);
            require(sum(hvd, "twice") == 3, "the first operation is spoiled");
            return;
        }
        Handle first = hvd.allreduceAsync("twice", mine, AllreduceOptions.sum());
        try {
            hvd.allreduceAsync("twice", mine, AllreduceOptions.sum());
        } finally {
            hvd.broadcast("tried", Tensor.of(0f), 0);
            require(first.synchronize().item() == 3, "the first operation is spoiled");
        }
    }

    private static void useARemovedSet(HvdContext hvd) {
        ProcessSet one = hvd.addProcessSet(List.of(1));
        hvd.removeProcessSet(one);
        sum(one, "of one");
    }

    private static void caught(HvdContext hvd, Runnable mistake) {
        try {
            mistake.run();
        } catch (RuntimeException e) {
            System.out.println("CAUGHT " + e);
        }
        require(sum(hvd, "afterwards") == 3, "the context is spoiled");
        System.out.println("WENT ON");
    }

    /** The sum of the numbers 1 and 2, one from each rank. */
    private static float sum(ProcessSet set, String name) {
        return set.allreduce(name, Tensor.of(1f + Hvd.rank()), AllreduceOptions.sum())
                .item();
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }
}
