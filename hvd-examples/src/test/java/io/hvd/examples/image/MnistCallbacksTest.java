package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.examples.data.SyntheticDigits;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.train.Checkpoint;
import io.hvd.train.Training;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.LinearImpl;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The example with callbacks, on ranks that are threads, with few images and steps. */
@Timeout(120)
class MnistCallbacksTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void unpackLibTorch() {
        TorchRuntime.prepare();
    }

    private static CallbacksOptions parse(String flags) throws ParseException {
        String[] words = flags.isEmpty() ? new String[0] : flags.split(" ");
        return CallbacksOptions.from(new DefaultParser().parse(new MnistCallbacksExample().flags(), words));
    }

    @Test
    void theNetIsTheOneOfHorovodsKerasExample() {
        assertThat(TorchTensors.parameters(new CallbacksNet()).values().stream()
                        .mapToLong(parameter -> parameter.shape().elements())
                        .sum())
                .isEqualTo(1_199_882);
    }

    @Test
    void theNumbersAreHorovodsAndStepsAreDividedByTheRanks() throws ParseException {
        CallbacksOptions full = parse("");

        assertThat(List.of(full.epochs(), full.batchSize(), full.warmUpEpochs(), full.patience()))
                .containsExactly(24, 128, 3, 0);
        assertThat(full.steps(4)).isEqualTo(125);
        assertThat(full.schedule(4).rate(0)).isCloseTo(0.001, within(3e-5));
        assertThat(full.schedule(4).rate(3)).isEqualTo(0.004);
        assertThat(parse("--preset quick --steps 7").epochs()).isEqualTo(5);
        assertThat(parse("--preset quick --steps 7").steps(1)).isEqualTo(7);
        assertThatThrownBy(() -> parse("--preset slow")).hasMessageContaining("--preset is \"slow\"");
    }

    @Test
    void anEpochGoesOnWhereTheOneBeforeHasEnded() {
        EndlessBatches<Integer> batches = new EndlessBatches<>(List.of(1, 2, 3), 4);
        List<Integer> all = new ArrayList<>();
        for (int epoch = 0; epoch < 2; epoch++) {
            Iterator<Integer> each = batches.iterator();
            each.forEachRemaining(all::add);
        }

        assertThat(all).containsExactly(1, 2, 3, 1, 2, 3, 1, 2);
    }

    /** Horovod's example begins with the rate 1 for each rank. */
    @Test
    void adadeltaOnArraysTrainsTheModelAlikeOnAllRanks() throws Exception {
        CallbacksOptions options =
                parse("--optimizer adadelta --epochs 3 --steps 16 --batch-size 16 --warmup-epochs 0");
        assertThat(options.schedule(2).rate(0)).isEqualTo(2);
        var images = SyntheticDigits.sets(128, 30, 42);
        List<Double> losses = new ArrayList<>();
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> new CallbacksTraining(hvd, options, images, line -> {
                            if (line.matches("epoch ./3: loss .*")) {
                                losses.add(Double.valueOf(line.replaceFirst("epoch ./3: loss ([^,]*),.*", "$1")));
                            }
                        })
                        .run());

        assertThat(losses).hasSize(3);
        assertThat(losses.get(2)).isLessThan(0.8 * losses.get(0));
        assertThat(ends.get(1).result("test loss")).isEqualTo(ends.get(0).result("test loss"));
        assertThatThrownBy(() -> parse("--optimizer sgd")).hasMessageContaining("--optimizer is \"sgd\"");
    }

    @Test
    void itsRecordHasCurvesWithinTheEpochsAndHowItHasEnded() throws Exception {
        Path run = folder.resolve("run");
        CallbacksOptions options = parse("--epochs 1 --steps 10 --batch-size 8 --log-interval 2 --run-dir " + run);
        var images = SyntheticDigits.sets(40, 10, 42);
        Hvd.spawn(1, hvd -> new CallbacksTraining(hvd, options, images, line -> {}).run());

        assertThat(Files.readString(run.resolve("scalars.csv")))
                .contains(",5,steps/gradient norm,", ",10,steps/loss,", ",5,steps/learning rate,");
        assertThat(Files.readString(run.resolve("run.json"))).contains("\"why\": \"finished\"");
    }

    @Test
    void theRanksTrainWarmUpLowerTheRateOnAPlateauAndSave() throws Exception {
        Path file = folder.resolve("net");
        CallbacksOptions options = parse(
                "--epochs 5 --steps 6 --batch-size 16 --warmup-epochs 2 --lr 0.002 --plateau 1 --checkpoint " + file);
        var images = SyntheticDigits.sets(90, 30, 42);
        List<String> lines = new ArrayList<>();
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> new CallbacksTraining(
                                hvd,
                                options,
                                images,
                                hvd.rank() == 0
                                        ? lines::add
                                        : line -> {
                                            throw new AssertionError("rank 1 prints " + line);
                                        })
                        .run());

        assertThat(ends).allSatisfy(end -> {
            assertThat(end.epoch()).isEqualTo(5);
            assertThat(end.steps()).isEqualTo(15);
            assertThat(end.result("test accuracy").samples()).isEqualTo(30);
            assertThat(end.result("loss").mean())
                    .isEqualTo(ends.get(0).result("loss").mean())
                    .isPositive();
        });
        assertThat(lines).contains("epoch 2: the warm-up has ended at learning rate 0.004");
        assertThat(lines)
                .filteredOn(line -> line.startsWith("epoch 5/5: loss "))
                .singleElement()
                .asString()
                .contains("test accuracy ", "test loss ", "seconds per step ", "learning rate ");
        assertThat(lines.get(lines.size() - 1))
                .startsWith("RESULT example=mnist-callbacks ranks=2 epochs=5 steps=15 ")
                .endsWith(" data=drawn");
        assertThat(Checkpoint.read(file).metadata()).containsEntry("epochs", "5");
        assertThat(Checkpoint.read(file).tensors())
                .containsKeys("model.conv1.weight", "optimizer.exp_avg.conv1.weight");
    }

    /** The dictionary of named_parameters() owns what it returns; with it gone, the copies must still be tensors. */
    @Test
    void weightsInArraysOutliveTheDictionaryThatNamedThem() {
        var model = new LinearImpl(3, 2);
        var weights = new ArrayWeights(model);
        float[] bias = floats(model);
        System.gc();
        Pointer.deallocateReferences();

        weights.toModel();

        assertThat(floats(model)).isEqualTo(bias);
    }

    private static float[] floats(LinearImpl model) {
        float[] values = new float[2];
        model.bias().detach().data_ptr_float().get(values);
        return values;
    }
}
