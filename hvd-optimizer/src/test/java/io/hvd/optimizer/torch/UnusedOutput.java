package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.Phase;
import java.time.Duration;
import org.bytedeco.pytorch.Tensor;

/** A job in which the last rank's loss does not depend on what it gathered, for {@link DifferentiableIT}. */
final class UnusedOutput {
    private UnusedOutput() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            Tensor x;
            // The limit for a rank that leaves something out is shorter than a busy machine may take for this.
            try (Phase loading = hvd.phase("loading LibTorch", Duration.ofMinutes(5))) {
                x = Models.tensor(hvd.rank(), 1);
                x.requires_grad_(true);
                x.sum().backward();
            }
            Tensor y = new TorchCollectives(hvd).allgather("features", x);
            Tensor loss = hvd.rank() < hvd.size() - 1 ? y.sum() : x.sum();
            loss.backward();
            hvd.barrier();
        }
    }
}
