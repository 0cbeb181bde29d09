package com.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CookbookTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void libTorchIsReady() {
        TorchRuntime.prepare();
    }

    /** Two epochs of 6 steps of two ranks, then one of 4 steps of three. */
    @Test
    void theRecordOfARunGoesOnWithTheTraining() throws IOException {
        Hvd.spawn(2, hvd -> Cookbook.trainWithRecord(hvd, folder, 2).steps());
        List<Long> steps = Hvd.spawn(3, hvd -> Cookbook.trainWithRecord(hvd, folder, 3).steps());

        assertEquals(List.of(16L, 16L, 16L), steps);
        List<String> losses = Files.readAllLines(folder.resolve("run/scalars.csv")).stream()
                .filter(line -> line.contains("steps/loss"))
                .toList();
        assertEquals(16, losses.size(), losses.toString());
    }

    @Test
    void theRecordOfALoopOfOnesOwnSaysThatItHasFinishedAndHowFastItWas() throws IOException {
        Hvd.spawn(2, hvd -> {
            Cookbook.ownLoopWithRecord(hvd, folder, 2);
            return null;
        });

        String card = Files.readString(folder.resolve("run.json"));
        assertTrue(card.replace(" ", "").contains("\"state\":\"finished\""), card);
        assertTrue(card.replace(" ", "").contains("\"steps\":6"), card);
    }

    @Test
    void aSeedGivesAllRanksTheSameStartWeights() {
        List<float[]> weights = Hvd.spawn(3, hvd -> {
            var model = Cookbook.seeded(7, () -> Circle.model(8));
            return StateDict.of(model).get("0.weight").toFloatArray();
        });

        assertArrayEquals(weights.get(0), weights.get(1));
        assertArrayEquals(weights.get(0), weights.get(2));
    }

    @Test
    void theGroupsKeepTheRatioOfTheirRates() {
        var adam = Cookbook.twoRates(new LinearImpl(2, 4), new LinearImpl(4, 1));
        assertEquals(List.of(0.01, 0.001), rates(adam));
        assertEquals(0, new AdamWOptions(adam.param_groups().get(1).options()).weight_decay().get());

        new TorchOptimizer(adam).learningRate(0.02);

        assertEquals(List.of(0.02, 0.002), rates(adam));
    }

    /** The reason why the recipe sets the options of a group when the optimizer has it. */
    @Test
    void anOptionWithLibTorchsDefaultValueIsReplacedByThatOfTheOptimizer() {
        var adam = new Adam(new LinearImpl(2, 4).parameters(), new AdamOptions(0.5));
        adam.add_param_group(new OptimizerParamGroup(new LinearImpl(4, 1).parameters(), new AdamOptions(0.01)));
        adam.add_param_group(new OptimizerParamGroup(new LinearImpl(1, 1).parameters(), new AdamOptions(0.001)));

        assertEquals(List.of(0.5, 0.01, 0.5), rates(adam));
    }

    private static List<Double> rates(Optimizer optimizer) {
        List<Double> rates = new ArrayList<>();
        for (int i = 0; i < optimizer.param_groups().size(); i++) {
            rates.add(optimizer.param_groups().get(i).options().get_lr());
        }
        return rates;
    }

    @Test
    void theModelTrainsOnAfterItsEvaluation() {
        List<Double> accuracies = Hvd.spawn(2, hvd -> {
            var model = Cookbook.seeded(7, () -> Circle.model(8));
            double accuracy = Cookbook.accuracy(hvd, model);
            assertTrue(model.is_training());
            return accuracy;
        });

        assertEquals(accuracies.get(0), accuracies.get(1));
        assertTrue(accuracies.get(0) > 0 && accuracies.get(0) < 1);
    }

    @Test
    void theLinesComeInTheOrderOfTheRanks() {
        var printed = new ByteArrayOutputStream();
        var out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        Hvd.spawn(3, hvd -> {
            Cookbook.printInOrder(hvd, "rank " + hvd.rank(), out);
            return null;
        });

        assertEquals(List.of("rank 0", "rank 1", "rank 2"), printed.toString(StandardCharsets.UTF_8).lines().toList());
    }

    @Test
    void aPartOfAStateIsLoadedAndTheRestStays() {
        var model = Circle.model(2);
        float[] bias = StateDict.of(model).get("0.bias").toFloatArray();
        Map<String, Tensor> saved = new TreeMap<>(Map.of(
                "module.2.bias", Tensor.of(new float[] {42}), "module.9.bias", Tensor.of(new float[] {1})));
        assertThrows(HvdException.class, () -> StateDict.load(model, saved));

        Cookbook.loadWhatIsThere(model, saved);

        assertArrayEquals(new float[] {42}, StateDict.of(model).get("2.bias").toFloatArray());
        assertArrayEquals(bias, StateDict.of(model).get("0.bias").toFloatArray());
    }
}
