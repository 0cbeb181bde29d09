package io.hvd.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.HvdException;
import io.hvd.examples.TrainHere;
import io.hvd.train.Checkpoint;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demonstrations on ranks that are threads of this JVM. */
class DemosTest {
    private static final Pattern LIST = Pattern.compile("\\[([\\d, ]+)\\]");

    @TempDir
    Path folder;

    private static String run(int ranks, String flags) throws Exception {
        TrainHere ended = TrainHere.run((flags + " --threads " + ranks).split(" "));
        assertThat(ended.exitCode()).as(ended.output()).isZero();
        return ended.output();
    }

    private static TrainHere refused(int ranks, String flags) throws Exception {
        TrainHere ended = TrainHere.run((flags + " --threads " + ranks).split(" "));
        assertThat(ended.exitCode()).as(ended.output()).isEqualTo(2);
        assertThat(ended.output()).doesNotContain("RESULT");
        return ended;
    }

    private static Map<String, String> result(String output) {
        String last = output.lines()
                .filter(line ->
                        !line.startsWith("WARN UnreadResults ")) // which comes when the collector has been there
                .reduce((first, second) -> second)
                .orElseThrow();
        assertThat(last).startsWith("RESULT example=").endsWith(" data=drawn");
        Map<String, String> fields = new HashMap<>();
        for (String field : last.substring("RESULT ".length()).split(" ")) {
            String[] pair = field.split("=", 2);
            fields.put(pair[0], pair[1]);
        }
        return fields;
    }

    private static double number(Map<String, String> result, String key) {
        return Double.parseDouble(result.get(key));
    }

    /** The numbers in brackets, batch by batch. */
    private static List<List<Integer>> batches(String line) {
        return LIST.matcher(line)
                .results()
                .map(batch -> List.of(batch.group(1).split(", ")).stream()
                        .map(Integer::valueOf)
                        .toList())
                .toList();
    }

    private static List<List<List<Integer>>> epochs(String output, String title) {
        List<List<List<Integer>>> epochs = new ArrayList<>();
        output.lines()
                .dropWhile(line -> !line.startsWith(title))
                .skip(1)
                .takeWhile(line -> line.startsWith("  epoch "))
                .forEach(line -> epochs.add(batches(line)));
        return epochs;
    }

    /** torch repeats the order of an epoch that is not set; hvd's sampler moves on by itself. */
    @Test
    void withoutSetEpochThreeEpochsHaveOneOrderAndWithItThree() throws Exception {
        String output = run(1, "sampler-demo");

        List<List<List<Integer>>> with = epochs(output, "with setEpoch");
        List<List<List<Integer>>> without = epochs(output, "without set_epoch");
        assertThat(with).hasSize(3).doesNotHaveDuplicates();
        assertThat(without).hasSize(3).containsOnly(with.get(0));
        assertThat(epochs(output, "without a call")).isEqualTo(with);
        for (List<List<Integer>> epoch : with) {
            assertThat(epoch).hasSize(4).allSatisfy(batch -> assertThat(batch).hasSize(5));
            TreeSet<Integer> seen = new TreeSet<>();
            epoch.forEach(seen::addAll);
            assertThat(seen)
                    .hasSize(20)
                    .isSubsetOf(IntStream.rangeClosed(1, 21).boxed().toList());
        }
        assertThat(result(output))
                .containsEntry("batches", "4")
                .containsEntry("orders_with", "3")
                .containsEntry("orders_without", "1")
                .containsEntry("by_itself", "with");
        assertThat(run(1, "sampler-demo")).as("again").isEqualTo(output);
    }

    /** The evaluation deals every sample once, the training deals all ranks as many. */
    @Test
    void fiveSamplesOnTwoRanksArePaddedByOneSamplerAndNotByTheOther() throws Exception {
        assertThat(run(2, "sampler-demo --epochs 1"))
                .contains("on rank 0 of 2: [1, 3, 5] by DistributedSampler, which repeats 0; [1, 3, 5] by EvalSampler")
                .contains("on rank 1 of 2: [2, 4, 1] by DistributedSampler, which repeats 1; [2, 4] by EvalSampler");
    }

    @Test
    void theRankWithFewerBatchesJoinsPadsOrDropsAndTheMeanIsExact() throws Exception {
        int ranks = 3;
        String output = run(ranks, "uneven-data");

        assertThat(output).as("the ranks have numbers of their own").doesNotContain("WARN");
        Map<String, String> result = result(output);
        assertThat(result)
                .containsEntry("steps_join", "5,5,3")
                .containsEntry("steps_pad", "5,5,5")
                .containsEntry("steps_drop", "3,3,3");
        assertThat(result.get("last_joined")).isIn("0", "1");
        double sum = 2 * 190 + 66 + 20 * 100 + 12 * 200;
        assertThat(number(result, "mean")).isCloseTo(sum / 52, within(1e-4));
        assertThat(number(result, "mean_of_means")).isCloseTo((9.5 + 109.5 + 205.5) / 3, within(1e-4));
        assertThat(weights(output, "JOIN"))
                .hasSize(ranks)
                .allSatisfy(weight -> assertThat(weight).isCloseTo(weightAfter(5), within(1e-3)));
        assertThat(weights(output, "DROP"))
                .hasSize(ranks)
                .allSatisfy(weight -> assertThat(weight).isCloseTo(weightAfter(3), within(1e-3)));
    }

    private static List<Double> weights(String output, String policy) {
        return Pattern.compile(policy + ", rank \\d: \\d steps, weight ([\\d.]+)")
                .matcher(output)
                .results()
                .map(weight -> Double.valueOf(weight.group(1)))
                .toList();
    }

    /** The result of one rank whose batches are those of the three ranks together, the third of which has three. */
    private static double weightAfter(int steps) {
        double weight = 0;
        for (int step = 0; step < steps; step++) {
            double mean = 4 * step + 1.5 + (step < 3 ? 100 : 50);
            weight -= 0.1 * (weight - mean);
        }
        return weight;
    }

    @Test
    void adasumStandsARateAtWhichTheSumOfTheGradientsDiverges() throws Exception {
        Map<String, String> gentle = result(run(2, "adasum-demo --degree 3 --rates 0.1"));
        String steep = run(2, "adasum-demo --degree 3 --rates 0.8");

        assertThat(number(gentle, "best_sum")).isLessThan(number(gentle, "best_adasum"));
        assertThat(number(gentle, "best_adasum")).isLessThan(number(gentle, "best_average"));
        assertThat(result(steep)).containsEntry("best_sum", "diverged");
        // The noise alone has a mean square of a hundredth divided by 3.
        assertThat(number(result(steep), "best_adasum")).isBetween(0.002, 0.005);
        assertThat(steep).containsPattern("(?m)^ +rate +sum +average +adasum$");
    }

    @Test
    void adasumIsRefusedOnThreeRanksAndIsPlainDescentOnOne() throws Exception {
        assertThat(refused(3, "adasum-demo").output())
                .contains("found 3 ranks, expected a power of two, which Adasum needs");
        Map<String, String> one = result(run(1, "adasum-demo --rates 0.1,0.2"));
        assertThat(one.get("best_adasum")).isEqualTo(one.get("best_sum")).isEqualTo(one.get("best_average"));
    }

    @Test
    void aDiscardedAllreduceLeavesEachRanksOwnAccuracyAndTheExactOneIsThatOfOneRank() throws Exception {
        String output = run(2, "distributed-eval");
        Map<String, String> result = result(output);
        Map<String, String> one = result(run(1, "distributed-eval"));

        assertThat(result.get("accuracy")).isEqualTo(one.get("accuracy"));
        assertThat(result.get("evaluated")).isEqualTo("101");
        assertThat(result.get("discarded")).isNotEqualTo(result.get("accuracy"));
        assertThat(result.get("padded")).isNotEqualTo(result.get("accuracy"));
        List<MatchResult> lines = Pattern.compile(
                        "rank (\\d): (\\d+) of 101 samples, own accuracy ([\\d.]+), .* discarded ([\\d.]+)")
                .matcher(output)
                .results()
                .toList();
        assertThat(lines)
                .hasSize(2)
                .allSatisfy(line -> assertThat(line.group(4)).isEqualTo(line.group(3)));
        double right = lines.stream()
                .mapToDouble(line -> Double.parseDouble(line.group(2)) * Double.parseDouble(line.group(3)))
                .sum();
        assertThat(right / 101).isCloseTo(number(result, "accuracy"), within(1e-5));
        assertThat(refused(3, "distributed-eval --items 2").output())
                .contains("--items is 2, expected at least one for each of the 3 ranks");
    }

    /** The gradients of the ranks' own samples are averaged, so the same seed on one rank goes another way. */
    @Test
    void everyRankOfTheToyModelRunsAndAllEndWithTheSameWeightsOnOneDeviceOrTwo() throws Exception {
        String basic = run(2, "toy --steps 3 --lr 0.1");
        String parallel = run(2, "toy --steps 3 --lr 0.1 --part model-parallel");

        for (int rank = 0; rank < 2; rank++) {
            assertThat(basic).containsPattern("(?m)^rank " + rank + " of 2 on \\S+: both layers on the CPU$");
            assertThat(parallel)
                    .contains("net1 on device " + 2 * rank + " and net2 on device " + (2 * rank + 1)
                            + ", both simulated");
        }
        assertThat(result(basic)).containsEntry("weights", "equal");
        assertThat(result(parallel).get("loss")).isEqualTo(result(basic).get("loss"));
        assertThat(result(run(1, "toy --steps 3 --lr 0.1")).get("loss"))
                .isNotEqualTo(result(basic).get("loss"));
        assertThat(number(result(run(2, "toy --steps 50 --lr 0.1")), "loss")).isLessThan(number(result(basic), "loss"));
    }

    @Test
    void allRanksLoadWhatRankZeroHasSaved() throws Exception {
        Path file = folder.resolve("toy.safetensors");
        String output = run(2, "toy --part checkpoint --checkpoint " + file);

        List<String> sums = Pattern.compile("rank \\d: the parameters from toy.safetensors have crc32 (\\w+)")
                .matcher(output)
                .results()
                .map(sum -> sum.group(1))
                .toList();
        assertThat(sums).hasSize(2).containsOnly(sums.get(0));
        assertThat(output).contains("weights of all ranks are equal, crc32 " + sums.get(0));
        assertThat(new TreeMap<>(Checkpoint.read(file).tensors()).keySet())
                .containsExactly("net1.bias", "net1.weight", "net2.bias", "net2.weight");
        assertThat(refused(2, "toy --part checkpoint --checkpoint " + folder.resolve("none/file"))
                        .output())
                .contains("there is no folder " + folder.resolve("none") + " on the host of rank 0");
    }

    /** One rank and two have the same net; three have a layer more. */
    @Test
    void aPipelineOfStagesHasTheWeightsOfTheNetWithoutIt() throws Exception {
        Map<String, String> one = result(run(1, "toy --part pipeline --steps 30 --lr 0.5"));
        Map<String, String> two = result(run(2, "toy --part pipeline --steps 30 --lr 0.5 --micro-batches 3"));
        String three = run(3, "toy --part pipeline --steps 30 --lr 0.5 --micro-batches 7");

        assertThat(number(two, "loss")).isCloseTo(number(one, "loss"), within(1e-4));
        assertThat(number(two, "loss"))
                .isLessThan(number(result(run(2, "toy --part pipeline --lr 0.5")), "loss") - 0.3);
        assertThat(number(two, "difference")).isLessThan(1e-5);
        assertThat(number(result(three), "difference")).isLessThan(1e-5);
        assertThat(three)
                .contains("rank 1: stage 2 of 3 runs on ", "with the layers [net2.bias, net2.weight]")
                .contains("7 micro-batches through 3 stages: a stage is idle for 22 % of a step");
    }

    @Test
    void flagsOfAnotherPartAndTooManyMicroBatchesAreRefused() throws Exception {
        assertThat(refused(1, "toy --micro-batches 2").output())
                .contains("--micro-batches is for --part pipeline, found --part basic");
        assertThat(refused(1, "toy --part pipeline --micro-batches 21").output())
                .contains("--micro-batches is 21, expected at most --batch-size, 20");
        assertThat(refused(1, "uneven-data --batches 2 --fewer 2").output())
                .contains("--fewer is 2, expected less than --batches, 2");
        assertThat(refused(1, "adasum-demo --rates 0.1,fast").output()).contains("--rates is \"0.1,fast\"");
    }

    @Test
    void theHangNamesTheRankTheCallAndItsLineAndEndsByItself() throws Exception {
        assertThat(refused(1, "hang-demo").output()).contains("hang-demo: found 1 rank, expected at least 2");
        assertThatThrownBy(() -> run(3, "hang-demo --after 2"))
                .isInstanceOf(HvdException.class)
                .rootCause()
                .hasMessageContainingAll(
                        "rank 1 left out allreduce \"weights\"",
                        "HangExample.averageWeights(HangExample.java:",
                        "and went on to allreduce \"bias\" at HangExample.averageBias(HangExample.java:");
    }
}
