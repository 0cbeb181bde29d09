package io.hvd.contract;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Random programs with ranks as threads. */
@Timeout(value = 1200, threadMode = ThreadMode.SEPARATE_THREAD)
class RandomProgramsTest {
    @Test
    void threeHundredProgramsGiveWhatTheyShould() {
        runAll(1, 300);
    }

    @Test
    @Tag("long")
    void tenThousandProgramsGiveWhatTheyShould() {
        runAll(1_000_000, 10_000);
    }

    private static void runAll(long first, int count) {
        long start = System.nanoTime();
        for (long seed = first; seed < first + count; seed++) {
            long program = seed;
            Hvd.spawn((int) (1 + seed % 5), InitOptions.standard().withDynamicProcessSets(), hvd -> {
                RandomPrograms.run(program, hvd);
                return null;
            });
        }
        System.out.printf("PROGRAMS backend=local passed=%d seconds=%.1f%n", count, (System.nanoTime() - start) / 1e9);
    }
}
