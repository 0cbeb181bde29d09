package io.hvd.faults;

import io.hvd.Hvd;
import io.hvd.config.LauncherFacts;
import java.util.concurrent.TimeUnit;

/** One rank calls {@code Hvd.init()} late, if it is let. Arguments: the rank, the seconds that it takes before. */
public final class LateStartProgram {
    private LateStartProgram() {}

    public static void main(String[] args) throws InterruptedException {
        int rank = LauncherFacts.rank(System.getenv()).orElseThrow();
        if (rank == Integer.parseInt(args[0])) {
            System.out.println("LATE process " + ProcessHandle.current().pid());
            TimeUnit.SECONDS.sleep(Integer.parseInt(args[1]));
        }
        Hvd.init().close();
        System.out.println("DONE " + rank);
    }
}
