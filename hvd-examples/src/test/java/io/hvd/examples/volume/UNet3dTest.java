package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.cat;
import static org.bytedeco.pytorch.global.torch.conv3d;
import static org.bytedeco.pytorch.global.torch.conv_transpose3d;
import static org.bytedeco.pytorch.global.torch.prelu;

import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The net, its loss, and its way over volumes. */
class UNet3dTest {
    private static final List<Integer> FULL = List.of(16, 32, 64, 128, 256);

    @BeforeAll
    static void load() {
        TorchRuntime.load();
    }

    @Test
    void theNetOfFullSizeHasMonaisNumberOfParameters() {
        assertThat(parameters(new UNet3d.Shape(1, 1, FULL, VolumeNorm.INSTANCE)))
                .isEqualTo(4_805_534);
        assertThat(parameters(new UNet3d.Shape(1, 2, FULL, VolumeNorm.BATCH))).isEqualTo(4_808_917);
    }

    private static long parameters(UNet3d.Shape shape) {
        return TorchTensors.parameters(new UNet3d(shape)).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();
    }

    @Test
    void aNetOfOneLevelIsRefused() {
        assertThatThrownBy(() -> new UNet3d.Shape(1, 1, List.of(4), VolumeNorm.INSTANCE))
                .hasMessageContaining("at least 2 levels, found widths [4]");
    }

    /** Calculated once more from the parameters by their names, with the functions that the layers stand for. */
    @Test
    void theNetComputesWhatItsDescriptionSays() {
        UNet3d net =
                SeededModule.seeded(3, () -> new UNet3d(new UNet3d.Shape(1, 2, List.of(2, 3), VolumeNorm.INSTANCE)));
        System.gc(); // norms that only LibTorch knew would be gone after this
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor x = random(2, 1, 4, 6, 8);
            Parameters of = new Parameters(net.named_parameters());
            Tensor down = of.residual("model.0", x, 3, 2);
            Tensor bottom = of.residual("model.1.submodule", down, 1, 1);
            Tensor doubled = conv_transpose3d(
                    cat(new TensorVector(down, bottom), 1),
                    of.get("model.2.0.conv.weight"),
                    of.bias("model.2.0.conv"),
                    cube(2),
                    cube(1),
                    cube(1),
                    1,
                    cube(1));
            Tensor top = prelu(normalised(doubled), of.get("model.2.0.adn.A.weight"));
            Tensor expected = top.add(of.convolution("model.2.1.conv.unit0.conv", top, 3, 1));

            Tensor found = net.forward(x);

            assertThat(found.sizes().vec().get()).containsExactly(2, 2, 4, 6, 8);
            assertThat(floats(found)).usingComparatorWithPrecision(1e-4f).containsExactly(floats(expected));
        }
    }

    private record Parameters(StringTensorDict named) {
        Tensor get(String name) {
            return named.get(name);
        }

        TensorOptional bias(String name) {
            return new TensorOptional(get(name + ".bias"));
        }

        Tensor convolution(String name, Tensor x, int side, int stride) {
            return conv3d(x, get(name + ".weight"), bias(name), cube(stride), cube(side / 2), cube(1), 1);
        }

        Tensor unit(String name, Tensor x, int stride) {
            Tensor y = normalised(convolution(name + ".conv", x, 3, stride));
            return prelu(y, get(name + ".adn.A.weight"));
        }

        Tensor residual(String name, Tensor x, int side, int stride) {
            Tensor y = unit(name + ".conv.unit1", unit(name + ".conv.unit0", x, stride), 1);
            return y.add(convolution(name + ".residual", x, side, stride));
        }
    }

    private static Tensor normalised(Tensor x) {
        long[] voxels = {2, 3, 4};
        Tensor centred = x.sub(x.mean(voxels, true, new ScalarTypeOptional()));
        Tensor variance = centred.mul(centred).mean(voxels, true, new ScalarTypeOptional());
        return centred.div(variance.add(new Scalar(1e-5)).sqrt());
    }

    private static long[] cube(long side) {
        return new long[] {side, side, side};
    }

    @Test
    void theDiceLossIsTheMeanOverSamplesAndChannels() {
        try (PointerScope scope = new PointerScope()) {
            double[] probabilities = {0.5, 0.25, 0.9, 0.1, 0.2, 0.6, 0.7, 0.3};
            float[] logits = new float[8];
            for (int i = 0; i < 8; i++) {
                logits[i] = (float) Math.log(probabilities[i] / (1 - probabilities[i]));
            }
            float[] targets = {1, 0, 1, 1, 0, 0, 0, 0};
            double first = 1 - (2 * (0.5 + 0.9 + 0.1) + 1e-5) / (0.5 + 0.25 + 0.9 + 0.1 + 3 + 1e-5);
            double second = 1 - 1e-5 / (0.2 + 0.6 + 0.7 + 0.3 + 1e-5);

            Tensor loss = DiceLoss.of(Tensor.create(logits, 2, 1, 1, 2, 2), Tensor.create(targets, 2, 1, 1, 2, 2));

            assertThat(loss.item_double()).isCloseTo((first + second) / 2, within(1e-6));
        }
    }

    @Test
    void cubesBeginAtRegularDistancesAndTheLastOneEndsWithTheVolume() {
        SlidingWindow window = new SlidingWindow(96, 4, 0.25, SlidingWindow.Weighting.CONSTANT);
        assertThat(window.starts(96)).containsExactly(0L);
        assertThat(window.starts(128)).containsExactly(0L, 32L);
        assertThat(window.starts(168)).containsExactly(0L, 72L);
        assertThat(window.starts(170)).containsExactly(0L, 72L, 74L);
        assertThat(new SlidingWindow(4, 1, 0.99, SlidingWindow.Weighting.CONSTANT).starts(6))
                .containsExactly(0L, 1L, 2L);
    }

    /** Sides that are no multiple of the distance, one below the cube's, and more cubes than a batch. */
    @Test
    void whatANetLeavesAsItIsIsLeftAsItIsByBothWeightings() {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor volume = random(1, 1, 3, 9, 11);
            for (SlidingWindow.Weighting weighting : SlidingWindow.Weighting.values()) {
                SlidingWindow window = new SlidingWindow(4, 3, 0.25, weighting);
                List<Long> batches = new ArrayList<>();

                Tensor found = window.apply(
                        cubes -> {
                            batches.add(cubes.size(0));
                            return cubes.mul(new Scalar(2.0));
                        },
                        volume);

                assertThat(batches).containsExactly(3L, 3L, 3L, 3L);
                assertThat(found.sizes().vec().get()).containsExactly(1, 1, 3, 9, 11);
                assertThat(floats(found))
                        .usingComparatorWithPrecision(1e-5f)
                        .containsExactly(floats(volume.mul(new Scalar(2.0))));
            }
        }
    }

    /** A net that answers with the number of the cube: two cubes of side 4 on six voxels, which have two in common. */
    @Test
    void cubesAreAveragedByTheirWeights() {
        for (SlidingWindow.Weighting weighting : SlidingWindow.Weighting.values()) {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                SlidingWindow window = new SlidingWindow(4, 1, 0.5, weighting);
                int[] number = {0};
                float[] row = floats(window.apply(
                        cubes -> cubes.mul(new Scalar(0.0)).add(new Scalar((double) number[0]++)),
                        random(1, 1, 4, 4, 6)));

                float[] weights = weighting.of(4);
                assertThat(row[0]).isZero();
                assertThat(row[5]).isEqualTo(1);
                float right = weights[2] + weights[0];
                assertThat(row[2]).isCloseTo(weights[0] / right, within(1e-6f));
                assertThat(row[3]).isCloseTo(weights[1] / (weights[3] + weights[1]), within(1e-6f));
            }
        }
        float[] bell = SlidingWindow.Weighting.GAUSSIAN.of(5);
        assertThat(bell[62]).isEqualTo(1);
        assertThat(bell[63]).isCloseTo((float) Math.exp(-1 / (0.625 * 0.625) / 2), within(1e-6f));
        assertThat(bell[0]).isEqualTo(1e-3f);
    }

    @Test
    void theMeanDiceLeavesOutVolumesWithoutAMask() {
        VolumeScores scores = new VolumeScores(List.of(
                new VolumeScore(0, 3, 4, 5, 100, 0.5),
                new VolumeScore(1, 0, 7, 0, 100, 1),
                new VolumeScore(2, 10, 10, 10, 200, 0.25)));

        assertThat(scores.meanDice()).isEqualTo((6.0 / 9 + 1) / 2);
        assertThat(scores.volumesWithMask()).isEqualTo(2);
        assertThat(scores.meanLoss()).isCloseTo(1.75 / 3, within(1e-12));
        assertThat(scores.accuracy()).isEqualTo((97 + 93 + 200) / 400.0);
        assertThat(scores.csv(List.of("a", "b", "c")))
                .isEqualTo(
                        "image,dice,overlap,predicted,truth,voxels,loss\n"
                                + "a,0.666667,3,4,5,100,0.500000\nb,NaN,0,7,0,100,1.000000\nc,1.000000,10,10,10,200,0.250000\n");
        assertThat(new VolumeScores(List.of()).meanDice()).isNaN();
    }

    private static Tensor random(long... sizes) {
        Random random = new Random(7);
        float[] values = new float[Math.toIntExact(Arrays.stream(sizes).reduce(1, (a, b) -> a * b))];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat();
        }
        return Tensor.create(values, sizes);
    }

    private static float[] floats(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.numel())];
        tensor.contiguous().data_ptr_float().get(values);
        return values;
    }
}
