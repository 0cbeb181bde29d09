package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Metrics over several ranks are those of all samples on one rank, however the samples are dealt. */
@Timeout(60)
class DistributedMetricsTest {
    private static final int SAMPLES = 97;
    private static final int CLASSES = 4;

    /** Scores and label of one sample; many scores are equal. */
    private record Sample(float[] scores, int label) {
        static Sample of(int index) {
            Random random = new Random(7 * index);
            float[] scores = new float[CLASSES];
            for (int i = 0; i < CLASSES; i++) {
                scores[i] = random.nextInt(8) / 8f;
            }
            return new Sample(scores, random.nextInt(CLASSES));
        }
    }

    /** Rank 0 has a tenth of the samples, the last one of several ranks none, the others the rest. */
    private static List<Sample> share(HvdContext hvd) {
        List<Sample> share = new ArrayList<>();
        for (int sample = 0; sample < SAMPLES; sample++) {
            int owner = hvd.size() == 1 || sample % 10 == 0 ? 0 : 1 + sample % Math.max(1, hvd.size() - 2);
            if (Math.min(owner, Math.max(0, hvd.size() - 2)) == hvd.rank()) {
                share.add(Sample.of(sample));
            }
        }
        return share;
    }

    /** The result on each of so many ranks must be that of one rank. */
    private static <R> R sameAsOnOneRank(int ranks, BiFunction<HvdContext, List<Sample>, R> metric) {
        R alone = Hvd.spawn(1, hvd -> metric.apply(hvd, share(hvd))).get(0);
        List<Integer> sizes = new ArrayList<>();
        List<R> all = Hvd.spawn(ranks, hvd -> {
            List<Sample> share = share(hvd);
            synchronized (sizes) {
                sizes.add(share.size());
            }
            return metric.apply(hvd, share);
        });
        assertThat(sizes.stream().mapToInt(size -> size).sum()).isEqualTo(SAMPLES);
        assertThat(ranks == 1 || sizes.contains(0)).isTrue();
        assertThat(all).containsOnly(alone);
        return alone;
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void theConfusionMatrixIsThatOfAllSamples(int ranks) {
        List<Long> counts = sameAsOnOneRank(ranks, (hvd, share) -> {
            ConfusionMatrix matrix = new ConfusionMatrix("matrix", CLASSES);
            share.forEach(sample -> matrix.add(new ClassScores(sample.scores, CLASSES), sample.label));
            return java.util.Arrays.stream(matrix.reduce(hvd).counts()).boxed().toList();
        });
        assertThat(counts.stream().mapToLong(count -> count).sum()).isEqualTo(SAMPLES);
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void theAreaUnderTheCurveIsThatOfAllPairs(int ranks) {
        AreaUnderCurve.Result result = sameAsOnOneRank(ranks, (hvd, share) -> {
            AreaUnderCurve area = new AreaUnderCurve("area");
            share.forEach(sample -> area.add(sample.scores[0], sample.label == 0));
            return area.reduce(hvd);
        });

        double wins = 0;
        long pairs = 0;
        for (int positive = 0; positive < SAMPLES; positive++) {
            for (int negative = 0; negative < SAMPLES; negative++) {
                if (Sample.of(positive).label == 0 && Sample.of(negative).label != 0) {
                    pairs++;
                    wins += (1 + Math.signum(Sample.of(positive).scores[0] - Sample.of(negative).scores[0])) / 2;
                }
            }
        }
        assertThat(result.area()).isCloseTo(wins / pairs, within(1e-12)).isBetween(0.3, 0.7);
        assertThat(result.positives() * result.negatives()).isEqualTo(pairs);
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void topKAndPerplexityAreThoseOfAllSamples(int ranks) {
        List<Object> found = sameAsOnOneRank(ranks, (hvd, share) -> {
            MeanMetric top2 = new MeanMetric("top2");
            MeanMetric loss = new MeanMetric("loss");
            for (Sample sample : share) {
                top2.add(new ClassScores(sample.scores, CLASSES).hits(2, new long[] {sample.label}), 1);
                loss.add(sample.scores[0], 1); // eighths, whose sums are exact in any order
            }
            return List.of(top2.reduce(hvd), loss.reduce(hvd).perplexity());
        });

        int hits = 0;
        double logarithms = 0;
        for (int i = 0; i < SAMPLES; i++) {
            Sample sample = Sample.of(i);
            int before = 0;
            for (int other = 0; other < CLASSES; other++) {
                float score = sample.scores[other];
                float own = sample.scores[sample.label];
                before += score > own || score == own && other < sample.label ? 1 : 0;
            }
            hits += before < 2 ? 1 : 0;
            logarithms += sample.scores[0];
        }
        assertThat(found)
                .containsExactly(
                        new MeanMetric.Result(hits / (double) SAMPLES, SAMPLES), Math.exp(logarithms / SAMPLES));
        assertThat(hits).isBetween(1, SAMPLES - 1);
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void theSoftDiceIsThatOfAllElements(int ranks) {
        double dice = sameAsOnOneRank(ranks, (hvd, share) -> {
            SoftDice metric = new SoftDice("dice");
            share.forEach(sample ->
                    metric.add(new float[] {sample.scores[0], sample.scores[1]}, new float[] {sample.label % 2, 0.5f}));
            return metric.reduce(hvd);
        });
        double products = 0;
        double sums = 0;
        for (int i = 0; i < SAMPLES; i++) {
            Sample sample = Sample.of(i);
            products += sample.scores[0] * (sample.label % 2) + sample.scores[1] * 0.5;
            sums += sample.scores[0] + sample.scores[1] + sample.label % 2 + 0.5;
        }
        assertThat(dice).isCloseTo(2 * products / sums, within(1e-12));
    }

    @Test
    void whatFollowsFromAConfusionMatrixIsAsItsDefinitionSays() {
        Hvd.spawn(1, hvd -> {
            ConfusionMatrix matrix = new ConfusionMatrix("matrix", 3);
            long[][] labelsAndPredictions = {{0, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 1}};
            for (long[] pair : labelsAndPredictions) {
                matrix.add(pair[0], pair[1]);
            }
            ConfusionMatrix.Result result = matrix.reduce(hvd);
            assertThat(result.count(0, 1)).isEqualTo(1);
            assertThat(result.samples()).isEqualTo(5);
            assertThat(result.accuracy()).isEqualTo(3 / 5.0);
            assertThat(result.precision(0)).isEqualTo(2 / 3.0);
            assertThat(result.recall(1)).isEqualTo(1 / 2.0);
            assertThat(result.dice(0)).isEqualTo(4 / 6.0);
            assertThat(result.iou(0)).isEqualTo(2 / 4.0);
            assertThat(result.recall(2)).isNaN();
            assertThatThrownBy(() -> matrix.add(3, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> matrix.add(new ClassScores(new float[4], 4), 0))
                    .hasMessageContaining("1 labels for 1 samples with 4 classes, in a confusion matrix of 3 classes");
            return null;
        });
    }

    /** 10 samples for 4 ranks: ranks 2 and 3 see one again, which the head of the order pads them with. */
    @Test
    void samplesThatPaddingRepeatsAreNotCounted() {
        for (int ranks : new int[] {1, 2, 4}) {
            List<DistinctSamples.Result> seen = Hvd.spawn(ranks, hvd -> {
                var sampler = new DistributedSampler(10, hvd.size(), hvd.rank());
                DistinctSamples all = new DistinctSamples("all", 10);
                DistinctSamples counted = new DistinctSamples("counted", 10);
                MeanMetric mean = new MeanMetric("mean");
                PaddingMask mask = new PaddingMask(sampler);
                int[] indices = sampler.indices();
                for (int from = 0; from < indices.length; from += 2) {
                    int batch = Math.min(2, indices.length - from);
                    int real = mask.counted(batch);
                    for (int i = 0; i < batch; i++) {
                        all.add(indices[from + i]);
                        if (i < real) {
                            counted.add(indices[from + i]);
                            mean.add(indices[from + i], 1);
                        }
                    }
                }
                assertThat(mean.reduce(hvd)).isEqualTo(new MeanMetric.Result(4.5, 10));
                assertThat(counted.reduce(hvd)).isEqualTo(new DistinctSamples.Result(10, 10, 10));
                return all.reduce(hvd);
            });
            assertThat(seen).containsOnly(new DistinctSamples.Result(10, ranks == 4 ? 12 : 10, 10));
            assertThat(seen.get(0)).hasToString("10 distinct samples of 10, seen " + (ranks == 4 ? 12 : 10) + " times");
        }
    }

    @Test
    void aCurveOfOneClassHasNoAreaAndANaNHasNoPlace() {
        Hvd.spawn(2, hvd -> {
            AreaUnderCurve area = new AreaUnderCurve("area");
            area.add(hvd.rank(), true);
            assertThat(area.reduce(hvd).area()).isNaN();
            assertThatThrownBy(() -> area.add(Float.NaN, false))
                    .hasMessageContaining("sample 1 of metric \"area\" on this rank has the score NaN");
            return null;
        });
    }

    /** Scores of both signs, the largest and smallest that there are, and two zeros of which neither is above the other. */
    @Test
    void scoresOfEverySignHaveTheirOrder() {
        float[] ascending = {
            Float.NEGATIVE_INFINITY, -Float.MAX_VALUE, -2, -1, -Float.MIN_VALUE, -0f, Float.MIN_VALUE, 3
        };
        for (int positives = 1; positives < ascending.length; positives++) {
            int first = ascending.length - positives;
            Hvd.spawn(2, hvd -> {
                AreaUnderCurve area = new AreaUnderCurve("area");
                AreaUnderCurve reversed = new AreaUnderCurve("reversed");
                for (int i = hvd.rank(); i < ascending.length; i += 2) {
                    area.add(ascending[i], i >= first);
                    reversed.add(-ascending[i], i >= first);
                }
                assertThat(area.reduce(hvd).area()).isEqualTo(1);
                assertThat(reversed.reduce(hvd).area()).isZero();
                return null;
            });
        }
        Hvd.spawn(2, hvd -> {
            AreaUnderCurve zeros = new AreaUnderCurve("zeros");
            zeros.add(hvd.rank() == 0 ? 0f : -0f, hvd.rank() == 0);
            assertThat(zeros.reduce(hvd)).isEqualTo(new AreaUnderCurve.Result(0.5, 1, 1));
            return null;
        });
    }

    @Test
    void theFirstSamplesOfABatchHaveItsFirstScores() {
        ClassScores scores = new ClassScores(new float[] {1, 2, 4, 3, 5, 6}, 2);

        assertThat(scores.first(2).samples()).isEqualTo(2);
        assertThat(scores.first(2).hits(1, new long[] {1, 0})).isEqualTo(2);
        assertThatThrownBy(() -> scores.first(4)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
