package io.hvd.top;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Two processes with two ranks each, which are threads. First rank 2 computes until hvd-top shows the other ranks waiting for
 * it; then rank 0 stops the second process until hvd-top shows that. What hvd-top has shown is printed.
 */
public final class LateRankProgram {
    private static final int THREADS = 2;
    private static final int LATE = 2;
    private static final int STEPS = 15;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(100);

    private LateRankProgram() {}

    public static void main(String[] args) {
        Hvd.spawn(THREADS, hvd -> {
            for (int step = 0; step < STEPS; step++) {
                average(hvd, "gradient").synchronize();
                hvd.markStep();
            }
            if (hvd.rank() == LATE) {
                System.out.println("TOP " + shown("\"waitingFor\":[2]", hvd.size() - 1));
                System.out.println(look("--once"));
            }
            average(hvd, "gradient").synchronize();
            beStopped(hvd);
            return null;
        });
    }

    private static Handle average(HvdContext hvd, String name) {
        return hvd.allreduceAsync(name, Tensor.of(1f, hvd.rank()), AllreduceOptions.average());
    }

    /** The ranks of the second process wait at the barrier when they are stopped, so they make the other call later. */
    private static void beStopped(HvdContext hvd) throws IOException, InterruptedException {
        long second = (long)
                hvd.broadcast("pid", Tensor.of((float) ProcessHandle.current().pid()), LATE)
                        .toFloatArray()[0];
        if (hvd.rank() < THREADS) {
            if (hvd.rank() == 0) {
                signal("STOP", second);
            }
            Handle handle = average(hvd, "stopped");
            if (hvd.rank() == 0) {
                System.out.println("STOPPED " + shown("\"waitingFor\":[2,3]", THREADS));
                System.out.println(look("--once"));
                signal("CONT", second);
            }
            hvd.barrier();
            handle.synchronize();
        } else {
            hvd.barrier();
            average(hvd, "stopped").synchronize();
        }
    }

    private static void signal(String name, long pid) throws IOException, InterruptedException {
        new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid).start().waitFor();
    }

    /** Looks until the text is shown so many times. */
    private static String shown(String text, int times) throws InterruptedException {
        String shown = "";
        for (long begin = System.nanoTime(); System.nanoTime() - begin < LIMIT_NANOS; ) {
            shown = look("--json").strip();
            if (shown.split(Pattern.quote(text), -1).length - 1 == times) {
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
