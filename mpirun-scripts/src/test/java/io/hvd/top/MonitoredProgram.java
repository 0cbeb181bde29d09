package io.hvd.top;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Two ranks that average until hvd-monitor, which rank 0 starts in a thread, has ended. Its arguments are those of hvd-monitor. */
public final class MonitoredProgram {
    private MonitoredProgram() {}

    public static void main(String[] args) throws InterruptedException {
        try (HvdContext hvd = Hvd.init()) {
            // Others of this user may run jobs beside this one.
            String job = hvd.hosts().get(0) + ":" + ProcessHandle.current().pid();
            Thread monitor = new Thread(() -> watch(job, args), "monitor");
            if (hvd.rank() == 0) {
                monitor.start();
            }
            boolean goesOn = true;
            while (goesOn) {
                Tensor rankZeroWatches = Tensor.of(hvd.rank() == 0 && monitor.isAlive() ? 1f : 0f);
                goesOn = hvd.allreduce("goes on", rankZeroWatches, AllreduceOptions.sum())
                                .item()
                        > 0;
                hvd.markStep();
            }
        }
    }

    private static void watch(String job, String... args) {
        List<String> flags = new ArrayList<>(List.of(args));
        flags.addAll(List.of("--job", job));
        try {
            int exitCode = new HvdMonitor(Path.of("/proc"), "there is no such program", System.out, System.err)
                    .run(flags.toArray(String[]::new));
            System.out.println("MONITOR exit code " + exitCode);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
