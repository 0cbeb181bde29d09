package io.hvd.faults;

import io.hvd.Hvd;
import io.hvd.config.LauncherFacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** One rank does not call {@code Hvd.init()} before a file is there, for a minute at most. Arguments: the rank, the file. */
public final class LateStartProgram {
    private static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private LateStartProgram() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        int rank = LauncherFacts.rank(System.getenv()).orElseThrow();
        if (rank == Integer.parseInt(args[0])) {
            System.out.println("LATE process " + ProcessHandle.current().pid());
            long begun = System.nanoTime();
            while (!Files.exists(Path.of(args[1])) && System.nanoTime() - begun < LIMIT_NANOS) {
                Thread.sleep(20);
            }
        }
        Hvd.init().close();
        System.out.println("DONE " + rank);
    }
}
