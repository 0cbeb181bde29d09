package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import io.hvd.train.Checkpoint;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A small transformer that is adapted to texts, on ranks that are threads, and under mpirun. */
class FinetuneIT {
    private static final String SMALL = "finetune --texts 400 --max-length 24 --global-batch 40 --lr 0.001 --seed 3 ";
    private static final Pattern EPOCH = Pattern.compile("epoch \\d+/\\d+: loss ([\\d.]+)");

    @TempDir
    Path folder;

    private static String run(String flags) throws Exception {
        TrainHere training = TrainHere.run((SMALL + flags).split(" "));
        assertThat(training.exitCode()).as(training.output()).isZero();
        assertThat(training.output()).contains("weights of all ranks are equal");
        return training.output();
    }

    private static List<Double> losses(String output) {
        List<Double> losses = new ArrayList<>();
        for (Matcher line = EPOCH.matcher(output); line.find(); ) {
            losses.add(Double.parseDouble(line.group(1)));
        }
        return losses;
    }

    @ParameterizedTest
    @ValueSource(strings = {"classify", "pairs", "lm"})
    void severalRanksHaveTheLossesOfOne(String task) throws Exception {
        String flags = "--epochs 2 --task " + task;
        List<Double> alone = losses(run(flags + " --threads 1"));
        List<Double> together = losses(run(flags + " --threads 4"));

        assertThat(alone).hasSize(2);
        assertThat(alone.get(1)).isLessThan(alone.get(0));
        for (int epoch = 0; epoch < 2; epoch++) {
            assertThat(together.get(epoch)).isCloseTo(alone.get(epoch), within(1e-3));
        }
    }

    private static final Pattern TEST = Pattern.compile("test accuracy ([\\d.]+).*test loss ([\\d.]+)");

    /** Blocks of pairs, and ranks without any text of the test. */
    @ParameterizedTest
    @ValueSource(strings = {"classify", "pairs", "lm"})
    void theTestIsThatOfOneRank(String task) throws Exception {
        String flags = "--lr 1e-12 --epochs 1 --task " + task;
        assertThat(tested(run(flags + " --threads 4"))).isEqualTo(tested(run(flags + " --threads 1")));
        Path few = folder.resolve("few.tsv");
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            lines.add("a" + i % 2 + "\tone two n" + i);
        }
        Files.write(few, lines);
        assertThat(tested(runOf(flags + " --data " + few + " --threads 4")))
                .isEqualTo(tested(runOf(flags + " --data " + few + " --threads 1")));
    }

    private static String runOf(String flags) throws Exception {
        TrainHere training = TrainHere.run((SMALL.replace("--texts 400 ", "") + flags).split(" "));
        assertThat(training.exitCode()).as(training.output()).isZero();
        return training.output();
    }

    private static List<String> tested(String output) {
        Matcher line = TEST.matcher(output);
        assertThat(line.find()).as(output).isTrue();
        return List.of(line.group(1), line.group(2));
    }

    /** Each rank has a quarter of the weights, and the losses are those of one that has all. */
    @Test
    void shardsLearnWhatTheWholeLearns() throws Exception {
        Path saved = folder.resolve("saved");
        List<Double> whole = losses(run("--epochs 2 --threads 1"));
        TrainHere sharded = TrainHere.run((SMALL + "--epochs 2 --threads 4 --fully-shard --save " + saved).split(" "));
        assertThat(sharded.exitCode()).as(sharded.output()).isZero();
        assertThat(sharded.output()).contains("FullyShard(3 unit(s) over 4 rank(s)");
        for (int epoch = 0; epoch < 2; epoch++) {
            assertThat(losses(sharded.output()).get(epoch)).isCloseTo(whole.get(epoch), within(1e-3));
        }
        assertThat(run("--epochs 1 --freeze all --threads 2 --model " + saved)).contains("BERT from " + saved);
    }

    private static String sharded(String flags) throws Exception {
        TrainHere training = TrainHere.run((SMALL + "--fully-shard " + flags).split(" "));
        assertThat(training.exitCode()).as(training.output()).isZero();
        return training.output();
    }

    /** Behind an epoch other ranks learn what they would have learnt without an end, and as many within one learn that to the bit. */
    @Test
    void shardsGoOnWithOtherRanks() throws Exception {
        String flags = "--epochs 2 --checkpoint-dir " + folder.resolve("series");
        String atOnce = loss(sharded("--epochs 2 --threads 4"));
        sharded(flags + " --threads 4 --max-steps 4");
        assertThat(loss(sharded(flags + " --threads 4"))).isEqualTo(atOnce);

        String others = flags.replace("series", "others");
        sharded(others + " --threads 4 --max-steps 9");
        String on = sharded(others + " --threads 2");
        assertThat(on)
                .contains("epoch 2/2: ", "ranks=2 epochs=2 steps=9 ")
                .doesNotContain("epoch 1/2: ", "weights of all ranks");
        assertThat(Double.parseDouble(loss(on))).isCloseTo(Double.parseDouble(atOnce), within(1e-3));
    }

    private static String loss(String output) {
        return output.replaceFirst("(?s).*RESULT.* loss=([\\d.]+) .*", "$1");
    }

    @Test
    void shardsOfAKilledProcessGoOnWithOtherRanks() throws Exception {
        Path series = folder.resolve("series");
        String flags = SMALL + "--epochs 300 --fully-shard --checkpoint-dir " + series + " --threads ";
        Process process = TrainJar.start((flags + "2").split(" "));
        try (BufferedReader lines = process.inputReader()) {
            String line = lines.readLine();
            while (line != null && !Files.exists(series.resolve("step-0000000009"))) {
                line = lines.readLine();
            }
            assertThat(line).as("it trains").isNotNull();
        } finally {
            process.destroyForcibly().waitFor();
        }
        String on = sharded(flags.replace(SMALL, "") + "4 --max-steps 1");
        assertThat(on).contains("going on from " + series, "which 2 ranks have written", "ranks=4 ", "steps=0 ");
    }

    @Test
    void adaptersOfRanksUnderMpirunAreSavedAndMerged() throws Exception {
        Path adapter = folder.resolve("adapter");
        Path merged = folder.resolve("merged");
        String flags =
                SMALL + "--epochs 1 --lora 4 --lora-targets query,dense --backward-passes-per-step 2 --bf16 --save ";
        Job job = TrainJar.horovodrun(2, (flags + adapter).split(" "));
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(Checkpoint.read(adapter.resolve("adapter_model.safetensors")).tensors())
                .hasSize(2 * 2 * 4)
                .containsKey("base_model.model.encoder.layer.1.output.dense.lora_B.weight");
        assertThat(adapter.resolve("head.safetensors")).exists();

        run("--epochs 1 --lora 4 --merge --save " + merged + " --threads 2");
        assertThat(Files.readString(merged.resolve("config.json"))).contains("\"model_type\":\"bert\"");
        String again = run("--epochs 1 --freeze all --threads 2 --model " + merged);
        assertThat(again).contains("BERT from " + merged, ": 0 of ", "are trained, and a head");
    }

    @Test
    void aRunGoesOnWithOtherRanks() throws Exception {
        String flags = "--checkpoint-dir " + folder.resolve("series") + " --epochs ";
        run(flags + "1 --threads 2");
        String on = run(flags + "2 --threads 4");
        assertThat(on).contains("epoch 2/2: ", "ranks=4 epochs=2 steps=9 ").doesNotContain("epoch 1/2: ");
        String over = run(flags + "2 --threads 2");
        assertThat(over).contains("steps=0 loss=" + on.replaceFirst("(?s).*RESULT.* loss=([\\d.]{6}).*", "$1"));
    }

    /** In the middle of an epoch, and between two backward passes of a step. */
    @Test
    void aLimitOfStepsEndsWithATest() throws Exception {
        String limited = run("--epochs 2 --max-steps 3 --backward-passes-per-step 2 --threads 2");
        assertThat(limited).contains("steps=2 loss=").doesNotContain("epoch 1/2: ");
    }

    @Test
    void flagsThatDoNotFitAreNamed() throws Exception {
        assertRefused("--lora-alpha 3", "--lora-alpha without --lora");
        assertRefused("--lora 2 --freeze 1", "--freeze beside --lora");
        assertRefused("--lora 2 --lora-targets q_proj", "q_proj", "query");
        assertRefused("--task lm --data " + folder.resolve("none"), "--data", "none");
        assertRefused("--model " + folder, "--model", "lacks config.json");
        assertRefused("--task pairs --freeze all", "--freeze all leaves nothing to train for --task pairs");
        Path file = Files.writeString(folder.resolve("file"), "");
        assertRefused("--save " + file, "--save: ", file.toString(), "on rank 0");
        assertRefused("--task pairs --freeze 2", "--freeze 2 leaves nothing to train for --task pairs");
        assertRefused("--freeze 3", "--freeze 3 of a model of 2 layers", "at most 2");
        assertRefused("--threads 3", "--global-batch", "40 cannot be dealt evenly to 3 ranks");
    }

    private static void assertRefused(String flags, String... words) throws Exception {
        TrainHere refused = TrainHere.run((SMALL + flags)
                .replace(flags.contains("--data") ? "--texts 400 " : "~", "")
                .split(" "));
        assertThat(refused.exitCode()).as(flags).isEqualTo(2);
        assertThat(refused.output()).contains(words);
    }
}
