package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.SGD;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An optimizer on LibTorch goes on in a context with another number of ranks. */
@Timeout(120)
class TorchRebindTest {
    private static final int STEPS = 3;
    private static final int BATCH = 2;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static final class Trainer {
        final Models.Net net = new Models.Net(7);
        final SGD sgd = new SGD(net.parameters(), Models.sgd(0.05));
        final DistributedOptimizer optimizer;

        Trainer(String... local) {
            optimizer = DistributedOptimizer.wrap(new TorchOptimizer(sgd, net.named_parameters()))
                    .localParameters(List.of(local))
                    .clipGradientNorm(1e6) // which no norm reaches, but gradients are put together for it
                    .build();
        }

        void steps(HvdContext hvd, int first) {
            for (int step = first; step < first + STEPS; step++) {
                int from = (step * hvd.size() + hvd.rank()) * BATCH;
                optimizer.zeroGradients();
                net.loss(from, from + BATCH).backward();
                optimizer.step();
            }
        }
    }

    /** What one process without hvd makes of the same samples. */
    private static float[] plain(int ranksFirst, int ranksThen) {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), Models.sgd(0.05));
        for (int step = 0; step < 2 * STEPS; step++) {
            int batch = (step < STEPS ? ranksFirst : ranksThen) * BATCH;
            sgd.zero_grad(true);
            net.loss(step * batch, (step + 1) * batch).backward();
            sgd.step();
        }
        return weights(net);
    }

    @Test
    void aRankThatIsLeftAloneKeepsItsOwnGradientsWhole() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            trainers.set(hvd.rank(), new Trainer());
            trainers.get(hvd.rank()).steps(hvd, 0);
            return null;
        });
        Trainer left = trainers.get(0);
        Hvd.spawn(1, hvd -> {
            left.optimizer.rebind(hvd);
            left.steps(hvd, STEPS);
            return null;
        });

        assertClose(weights(left.net), plain(2, 1), 1e-5);
    }

    /** Two ranks halve the gradient of a local parameter, one rank does not. */
    @Test
    void theGradientOfALocalParameterIsDividedByTheRanksThatThereAre() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            trainers.set(hvd.rank(), new Trainer("dense2.bias"));
            return null;
        });
        Trainer left = trainers.get(0);
        Hvd.spawn(1, hvd -> {
            left.optimizer.rebind(hvd);
            left.steps(hvd, 0);
            left.steps(hvd, STEPS);
            return null;
        });

        assertClose(weights(left.net), plain(1, 1), 1e-5);
    }

    @Test
    void aRankThatWasAloneAveragesWithTheOneThatHasCome() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(1, hvd -> {
            trainers.set(0, new Trainer());
            trainers.get(0).steps(hvd, 0);
            return null;
        });
        Hvd.spawn(2, hvd -> {
            if (hvd.rank() == 0) {
                trainers.get(0).optimizer.rebind(hvd);
            } else {
                trainers.set(1, new Trainer());
            }
            Trainer trainer = trainers.get(hvd.rank());
            trainer.optimizer.broadcastParameters(0);
            trainer.optimizer.broadcastOptimizerState(0);
            trainer.steps(hvd, STEPS);
            return null;
        });

        assertThat(weights(trainers.get(1).net)).isEqualTo(weights(trainers.get(0).net));
        assertClose(weights(trainers.get(0).net), plain(1, 2), 1e-5);
    }
}
