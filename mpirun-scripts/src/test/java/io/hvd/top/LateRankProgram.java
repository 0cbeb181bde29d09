package io.hvd.top;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Rank 2 computes until hvd-top shows the other ranks waiting for it; then it prints what hvd-top has shown, and makes the
 * call as well.
 */
public final class LateRankProgram {
    private static final int LATE = 2;
    private static final int STEPS = 15;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private LateRankProgram() {}

    public static void main(String[] args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            for (int step = 0; step < STEPS; step++) {
                average(hvd);
                hvd.markStep();
            }
            if (hvd.rank() == LATE) {
                System.out.println("TOP " + shownWhenAllOthersWait(hvd.size() - 1));
                System.out.println(look("--once"));
            }
            average(hvd);
        }
    }

    private static void average(HvdContext hvd) {
        hvd.allreduce("gradient", Tensor.of(1f, hvd.rank()), AllreduceOptions.average());
    }

    private static String shownWhenAllOthersWait(int others) throws InterruptedException {
        String shown = "";
        for (long begin = System.nanoTime(); System.nanoTime() - begin < LIMIT_NANOS; ) {
            shown = look("--json").strip();
            if (shown.split("\"waitingFor\":\\[2]", -1).length - 1 == others) {
                return shown;
            }
        }
        return shown;
    }

    /** Standard output belongs to the test. */
    private static String look(String flag) throws InterruptedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream text = new PrintStream(out, true, StandardCharsets.UTF_8);
        new HvdTop(new OpenPages(Path.of("/proc")), false, text, text).run(flag);
        return out.toString(StandardCharsets.UTF_8);
    }
}
