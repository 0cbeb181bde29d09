package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.data.LoadBalancingDistributedSampler;
import io.hvd.data.ResumableSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.LearningRate;
import io.hvd.train.Schedule;
import io.hvd.train.TrainingLoop;
import io.hvd.train.UnevenSteps;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A run that was stopped in the middle of an epoch and resumed, beside one that was not: every rate, to the last bit, and every batch. */
@Timeout(120)
class ResumedEpochTest {
    private static final int EPOCHS = 3;

    @TempDir
    Path folder;

    /** How a rank's samples become batches. @param balanced whether the samples are dealt by their complexity */
    private record Data(int samples, int batch, boolean dropLast, boolean padded, UnevenSteps even, boolean balanced) {
        Data(int samples, int batch, boolean dropLast, boolean padded, UnevenSteps even) {
            this(samples, batch, dropLast, padded, even, false);
        }

        ResumableSampler sampler(HvdContext hvd) {
            return balanced
                    ? LoadBalancingDistributedSampler.builder(
                                    IntStream.range(0, samples)
                                            .mapToLong(i -> i * 7 % 11)
                                            .toArray(),
                                    hvd.size(),
                                    hvd.rank())
                            .seed(5)
                            .build()
                    : ElasticSampler.builder(samples, hvd.size(), hvd.rank())
                            .seed(5)
                            .padded(padded)
                            .build();
        }
    }

    /** A batch as its rank got it, with the rate of its step. */
    private record Made(int epoch, long step, double rate, double progress, List<Integer> batch) {}

    /** Different rates in every step, and rates that jump in the middle of epochs and between them. */
    private static Schedule schedule() {
        return Schedule.linear(4, 1, EPOCHS)
                .then(1.5, Schedule.step(2, 0.5, 0.5))
                .warmUp(4, 1, 2);
    }

    /** @param stop the step after which all ranks leave; 0 for never */
    private static List<List<Made>> run(int ranks, Data data, Path folder, long stop) {
        return Hvd.spawn(ranks, hvd -> run(hvd, data, folder, stop));
    }

    private static List<Made> run(HvdContext hvd, Data data, Path folder, long stop) throws Exception {
        List<Made> made = new ArrayList<>();
        float[] gradient = {1};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[] {0}, gradient), 1))
                .build();
        optimizer.broadcastParameters(0);
        ResumableSampler sampler = data.sampler(hvd);
        Dataset<Integer> numbers =
                Dataset.of(IntStream.range(0, data.samples()).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                        .batchSize(data.batch())
                        .dropLast(data.dropLast())
                        .evenSteps(data.even().among(hvd))
                        .build();
                var checkpoints = Checkpoints.in(folder, hvd, optimizer)
                        .with("sampler", sampler)
                        .build()) {
            TrainingLoop.of(hvd, optimizer)
                    .with(new LearningRate(schedule()))
                    .with(AutoResume.everySteps(1_000, checkpoints, sampler))
                    .run(EPOCHS, loader, Math.max(1, loader.batches()), (batch, training) -> {
                        optimizer.zeroGradients();
                        gradient[0] = 1;
                        optimizer.step();
                        made.add(new Made(
                                training.epoch(),
                                training.steps(),
                                optimizer.learningRate(),
                                training.progress(),
                                batch));
                        if (training.steps() + 1 == stop) {
                            training.leave("enough");
                        }
                    });
        }
        return made;
    }

    private void assertSameWhereverItStops(int ranks, Data data, Path folder, long... stops) {
        List<List<Made>> whole = run(ranks, data, folder.resolve("whole"), 0);
        List<List<Made>> parts = new ArrayList<>();
        whole.forEach(rank -> parts.add(new ArrayList<>()));
        for (int part = 0; part <= stops.length; part++) {
            List<List<Made>> next = run(ranks, data, folder.resolve("parts"), part == stops.length ? 0 : stops[part]);
            for (int rank = 0; rank < ranks; rank++) {
                parts.get(rank).addAll(next.get(rank));
            }
        }
        assertThat(parts)
                .as("%d ranks, %s, stopped after %s", ranks, data, java.util.Arrays.toString(stops))
                .isEqualTo(whole);
    }

    @ParameterizedTest
    @CsvSource({"1,10,4,false", "2,21,4,false", "3,10,2,false", "2,21,4,true", "3,10,2,true"})
    void aRunThatStopsAfterAnyStepGoesOnWithTheRatesAndBatchesOfOneThatDoesNot(
            int ranks, int samples, int batch, boolean balanced) {
        Data data = new Data(samples, batch, false, true, UnevenSteps.REFUSE, balanced);
        int steps = run(ranks, data, folder.resolve("count"), 0).get(0).size();
        for (int stop = 1; stop < steps; stop++) {
            assertSameWhereverItStops(ranks, data, folder.resolve("stop-" + stop), stop);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = 1)
    void soDoesOneOfRandomSamplesRanksBatchesAndPolicies(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 15; i++) {
            int ranks = 1 + random.nextInt(4);
            int batch = 1 + random.nextInt(5);
            int samples = ranks * (batch + 1) + random.nextInt(30);
            boolean padded = random.nextBoolean();
            UnevenSteps even = padded ? UnevenSteps.REFUSE : random.nextBoolean() ? UnevenSteps.PAD : UnevenSteps.DROP;
            Data data = new Data(samples, batch, random.nextBoolean(), padded, even);
            long perEpoch = run(ranks, data, folder.resolve(seed + "-count-" + i), 0)
                            .get(0)
                            .size()
                    / EPOCHS;
            long first = 1 + random.nextInt((int) (EPOCHS * perEpoch - 1));
            long second = Math.min(EPOCHS * perEpoch - 1, first + 1 + random.nextInt((int) perEpoch));
            assertSameWhereverItStops(ranks, data, folder.resolve(seed + "-case-" + i), first, second);
        }
    }

    /** 40 samples: 2 ranks have made 3 of 5 batches of 4 each, 24 samples; 16 are left, and 4 ranks share them in one batch of 4 or two of 2. */
    @ParameterizedTest
    @CsvSource({"4,4,false", "4,2,false", "2,2,false", "1,4,false", "1,16,false", "4,4,true", "4,2,true", "2,2,true"})
    void withOtherRanksOrBatchesTheSamplesThatAreLeftAreTheRestOfTheEpoch(int ranks, int batch, boolean balanced) {
        run(2, new Data(40, 4, false, true, UnevenSteps.REFUSE, balanced), folder, 3);
        List<Made> resumed = run(ranks, new Data(40, batch, false, true, UnevenSteps.REFUSE, balanced), folder, 0)
                .get(0);
        int rest = 16 / (ranks * batch);
        for (int i = 0; i < rest; i++) {
            assertThat(resumed.get(i).progress())
                    .as("batch %d", i)
                    .isCloseTo(24 / 40.0 + i * 16 / 40.0 / rest, within(1e-12));
        }
        assertThat(resumed.get(rest).progress()).isEqualTo(1);
    }

    /** 3 ranks stop for good in the epoch that 2 have begun; their rates are those of 3 ranks that go on at once. */
    @Test
    void aSecondResumeWithAsManyRanksHasTheRatesOfTheFirst() {
        Data data = new Data(41, 3, false, true, UnevenSteps.REFUSE);
        List<List<List<Made>>> ways = new ArrayList<>();
        for (long again : new long[] {0, 5}) {
            Path parts = folder.resolve("again-" + again);
            run(2, data, parts, 3);
            List<List<Made>> made = run(3, data, parts, again);
            if (again > 0) {
                List<List<Made>> rest = run(3, data, parts, 0);
                for (int rank = 0; rank < 3; rank++) {
                    made.get(rank).addAll(rest.get(rank));
                }
            }
            ways.add(made);
        }
        assertThat(ways.get(1)).isEqualTo(ways.get(0));
    }

    /** 9 samples on 2 ranks in batches of 2 end with a batch of one rank; 3 ranks resume it with nothing for two of them. */
    @Test
    void theLastUnevenSampleCanBeResumedByMoreRanksThanItIsFor() {
        Data data = new Data(9, 2, false, false, UnevenSteps.PAD);
        run(2, data, folder, 2);
        List<List<Made>> resumed = run(3, data, folder, 0);
        assertThat(resumed).allSatisfy(rank -> assertThat(rank).hasSize(1 + 2 * 2));
        assertThat(resumed.get(0).get(0).epoch()).isEqualTo(0);
    }

    @Test
    void aCheckpointOfAnEarlierVersionGoesOnBySamples() {
        ElasticSampler sampler = ElasticSampler.builder(21, 2, 0).build();
        var old = new java.util.TreeMap<>(sampler.saveState());
        old.keySet().removeAll(List.of("dealt_from", "ranks", "batch_size"));
        old.put("position", "8");
        sampler.loadState(old);
        sampler.beginEpoch();
        assertThat(sampler.progress(4, 0, 2)).isCloseTo(8 / 21.0, within(1e-12));
        assertThat(sampler.progress(4, 2, 2)).isEqualTo(1);
    }
}
