package io.hvd.transformers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.optimizer.torch.TorchTensors;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContrastiveLossTest {
    private static final int PAIRS = 12;
    private static final int SIZE = 5;

    /** A dense layer makes both texts' vectors; what is compared is its gradient. */
    private record Result(double loss, List<Float> gradient) {}

    private static float[] rows(int seed, int first, int count) {
        Random random = new Random(seed);
        float[] all = new float[PAIRS * SIZE];
        for (int i = 0; i < all.length; i++) {
            all[i] = (float) random.nextGaussian();
        }
        return java.util.Arrays.copyOfRange(all, first * SIZE, (first + count) * SIZE);
    }

    private static Result step(HvdContext hvd) {
        try (PointerScope scope = new PointerScope()) {
            int mine = PAIRS / hvd.size();
            Tensor weight = Tensor.create(java.util.Arrays.copyOf(rows(3, 0, SIZE), SIZE * SIZE), SIZE, SIZE)
                    .set_requires_grad(true);
            Tensor first =
                    Tensor.create(rows(1, hvd.rank() * mine, mine), mine, SIZE).matmul(weight);
            Tensor second =
                    Tensor.create(rows(2, hvd.rank() * mine, mine), mine, SIZE).matmul(weight);
            Tensor loss = Sentences.contrastiveLoss(
                    hvd, "pairs", Sentences.normalised(first), Sentences.normalised(second), 20);
            loss.backward();
            float[] gradient = new float[SIZE * SIZE];
            Tensor averaged = weight.grad().contiguous();
            hvd.allreduceInPlace("gradient", TorchTensors.alias("gradient", averaged), AllreduceOptions.average());
            averaged.data_ptr_float().get(gradient);
            double mean = hvd.allreduce("loss", io.hvd.tensor.Tensor.of(loss.item_float()), AllreduceOptions.average())
                    .item();
            List<Float> numbers = new java.util.ArrayList<>();
            for (float each : gradient) {
                numbers.add(each);
            }
            return new Result(mean, numbers);
        }
    }

    @Test
    void differentNumbersOfPairsAreRefused() {
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    int mine = 3 + hvd.rank();
                    Tensor first = Tensor.create(rows(1, 0, mine), mine, SIZE);
                    return Sentences.contrastiveLoss(hvd, "pairs", first, first, 20)
                            .item_double();
                }))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("\"pairs\"", "and 7 on all 2 ranks", "expected as many on every rank");
    }

    /** In bfloat16 a similarity times 20 has steps of 0.06. */
    @Test
    void similaritiesAreComputedInTheVectorsOwnType() {
        List<Double> losses = Hvd.spawn(1, hvd -> {
                    Tensor first = Sentences.normalised(Tensor.create(rows(1, 0, PAIRS), PAIRS, SIZE));
                    Tensor second = Sentences.normalised(Tensor.create(rows(2, 0, PAIRS), PAIRS, SIZE));
                    double exact = Sentences.contrastiveLoss(hvd, "exact", first, second, 20)
                            .item_double();
                    try (Autocast half = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
                        Tensor loss = Sentences.contrastiveLoss(hvd, "half", first, second, 20);
                        return List.of(exact, loss.item_double());
                    }
                })
                .get(0);
        assertThat(losses.get(1)).isEqualTo(losses.get(0));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void severalRanksLearnWhatOneRankWithAllPairsLearns(int ranks) {
        Result alone = Hvd.spawn(1, ContrastiveLossTest::step).get(0);
        for (Result found : Hvd.spawn(ranks, ContrastiveLossTest::step)) {
            assertThat(found.loss()).isCloseTo(alone.loss(), within(1e-5));
            for (int i = 0; i < alone.gradient().size(); i++) {
                assertThat(found.gradient().get(i)).isCloseTo(alone.gradient().get(i), within(2e-5f));
            }
        }
        assertThat(alone.gradient()).anyMatch(each -> Math.abs(each) > 0.01);
    }
}
