package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rank 0 alone reads the checkpoint, and from the first step on the ranks compare the statistics of synchronised norms. */
class ResumedCifarIT {
    @TempDir
    private Path folder;

    @Test
    @Tag("long")
    void allRanksGoOnWithTheStatisticsOfTheCheckpoint() {
        train("whole", "--epochs 2");
        train("parts", "--epochs 1");
        train("parts", "--epochs 2 --resume");

        assertThat(folder.resolve("parts")).hasSameBinaryContentAs(folder.resolve("whole"));
    }

    private void train(String file, String flags) {
        String all = "--sync-bn --width 2 -b 8 --train-images 16 --test-images 8 --workers 0 --checkpoint "
                + folder.resolve(file) + " " + flags;
        Job job = Job.horovodrun(
                2, Map.of("HVD_DIVERGENCE_STEPS", "1", "HVD_THREADS_PER_RANK", "1"), ResumedCifar.class, all);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("epoch ")).as(job.output()).isNotEmpty();
    }
}
