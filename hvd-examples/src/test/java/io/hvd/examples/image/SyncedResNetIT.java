package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Job;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A ResNet-18 with SyncBatchNorm: 4 ranks with 16 images each end as one rank with 64. */
@Tag("long")
class SyncedResNetIT {
    private static final double TOLERANCE = 1e-4;

    @TempDir
    private static Path folder;

    private static Map<String, Tensor> oneRank;

    @BeforeAll
    static void trainOnOneRank() throws IOException {
        TorchRuntime.prepare();
        oneRank = underMpirun(1);
    }

    @Test
    void fourRanksUnderMpirunEndAsOne() throws IOException {
        requireSame(underMpirun(4));
    }

    @Test
    void fourThreadsEndAsOneRank() throws Exception {
        Path file = folder.resolve("threads");
        Hvd.spawn(4, hvd -> {
            SyncedResNet.train(hvd, file);
            return null;
        });
        requireSame(Checkpoint.read(file).tensors());
    }

    private static Map<String, Tensor> underMpirun(int ranks) throws IOException {
        Path file = folder.resolve("ranks-" + ranks);
        Job job = Job.horovodrun(ranks, Map.of("HVD_THREADS_PER_RANK", "1"), SyncedResNet.class, file.toString());
        assertThat(job.exitCode()).as(job.output()).isZero();
        return Checkpoint.read(file).tensors();
    }

    private static void requireSame(Map<String, Tensor> found) {
        assertThat(found).hasSize(122).containsOnlyKeys(oneRank.keySet());
        double worst = 0;
        for (Map.Entry<String, Tensor> expected : oneRank.entrySet()) {
            double distance = distance(found.get(expected.getKey()), expected.getValue());
            assertThat(distance)
                    .as("relative difference in %s", expected.getKey())
                    .isLessThanOrEqualTo(TOLERANCE);
            worst = Math.max(worst, distance);
        }
        System.out.println("largest relative difference of a tensor: " + worst);
    }

    private static double distance(Tensor found, Tensor expected) {
        double[] a = (double[]) found.toArray();
        double[] b = (double[]) expected.toArray();
        double difference = 0;
        double length = 0;
        for (int i = 0; i < b.length; i++) {
            difference += Math.pow(a[i] - b[i], 2);
            length += Math.pow(b[i], 2);
        }
        return Math.sqrt(difference / length);
    }
}
