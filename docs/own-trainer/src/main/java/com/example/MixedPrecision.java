package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.optimizer.torch.TorchOptimizer;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Fits a line in float16 with a loss scale. */
public class MixedPrecision {
    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            var line = new LinearImpl(1, 1);
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                            new Adam(line.parameters(), new AdamOptions(0.1)), line.named_parameters()))
                    .build();
            optimizer.broadcastParameters(0);
            Tensor points = torch.rand(64, 1);
            AmpOptimizer amp = train(
                    optimizer,
                    Collections.nCopies(100, points),
                    x -> torch.mse_loss(line.forward(x), x.add(x)));
            if (hvd.rank() == 0) {
                System.out.println("slope=" + line.weight().item_float() + " skipped=" + amp.skippedSteps());
            }
        }
    }

    static AmpOptimizer train(DistributedOptimizer optimizer, List<Tensor> batches, UnaryOperator<Tensor> forward) {
        var amp = AmpOptimizer.wrap(optimizer)    // from now on it is stepped through amp alone
                .scaler(new GradScaler())         // for Half; for BFloat16 GradScaler.disabled()
                .clipGradientNorm(1)              // clips the unscaled averages, alike on all ranks
                .build();
        for (Tensor batch : batches) {
            try (PointerScope scope = new PointerScope()) {
                amp.zeroGradients();
                Tensor loss;
                try (Autocast narrow = Autocast.to(ScalarType.Half, DeviceType.CPU)) { // or CUDA
                    loss = forward.apply(batch);
                }
                amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                amp.step();
            }
        }
        return amp;
    }
}
