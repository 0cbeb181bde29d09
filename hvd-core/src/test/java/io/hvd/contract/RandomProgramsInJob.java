package io.hvd.contract;

import io.hvd.Hvd;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random programs inside a rank of a job; {@link RandomProgramsIT} starts it under mpirun. */
@Timeout(600)
class RandomProgramsInJob {
    static final int COUNT = 200;

    @Test
    void programsGiveWhatTheyShould() {
        long start = System.nanoTime();
        for (long seed = 1; seed <= COUNT; seed++) {
            RandomPrograms.run(seed, Hvd.context());
        }
        if (Hvd.rank() == 0) {
            System.out.printf(
                    "PROGRAMS backend=mpi ranks=%d passed=%d seconds=%.1f%n",
                    Hvd.size(), COUNT, (System.nanoTime() - start) / 1e9);
        }
    }
}
