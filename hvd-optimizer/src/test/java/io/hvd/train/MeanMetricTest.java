package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MeanMetricTest {
    @Test
    void ranksWithUnequalCountsGiveTheExactMean() {
        // Rank 0 has seen one sample of 10, rank 1 three that sum to 6, rank 2 none.
        List<MeanMetric.Result> results = Hvd.spawn(3, hvd -> {
            MeanMetric loss = new MeanMetric("loss");
            if (hvd.rank() == 0) {
                loss.add(10, 1);
            } else if (hvd.rank() == 1) {
                loss.add(1, 1);
                loss.add(5, 2);
            }
            return loss.reduce(hvd);
        });

        assertThat(results).as("a mean of the ranks' means would be 6").containsOnly(new MeanMetric.Result(4, 4));
    }

    @Test
    void aProcessSetHasAMeanOfItsOwn() {
        InitOptions twoSets = InitOptions.standard().withProcessSets(List.of(List.of(0, 2), List.of(1, 3)));
        Hvd.spawn(4, twoSets, hvd -> {
            ProcessSet mine = hvd.processSet(1 + hvd.rank() % 2);
            ProcessSet others = hvd.processSet(2 - hvd.rank() % 2);
            MeanMetric loss = new MeanMetric("loss");
            loss.add(10 * hvd.rank(), 1 + hvd.rank());

            // Ranks 0 and 2: 20 over 1 + 3 samples. Ranks 1 and 3: 40 over 2 + 4.
            assertThat(loss.reduce(mine))
                    .isEqualTo(hvd.rank() % 2 == 0 ? new MeanMetric.Result(5, 4) : new MeanMetric.Result(40.0 / 6, 6));
            assertThat(loss.reduce(hvd)).isEqualTo(new MeanMetric.Result(6, 10));
            assertThatThrownBy(() -> loss.reduce(others))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("metric.loss", "process set " + others.id());
            return null;
        });
    }

    @Test
    void sumsAreKeptInDoublePrecision() {
        long count = 1L << 24;
        List<MeanMetric.Result> results = Hvd.spawn(2, hvd -> {
            MeanMetric metric = new MeanMetric("big");
            metric.add(count, count);
            metric.add(hvd.rank(), 1);
            return metric.reduce(hvd);
        });

        assertThat(results).containsOnly(new MeanMetric.Result((2.0 * count + 1) / (2 * count + 2), 2 * count + 2));
    }

    @Test
    void aMetricWithoutAnySampleIsNotANumber() {
        List<MeanMetric.Result> results = Hvd.spawn(2, hvd -> new MeanMetric("nothing").reduce(hvd));
        assertThat(results).allSatisfy(result -> {
            assertThat(result.mean()).isNaN();
            assertThat(result.samples()).isZero();
        });
    }

    @Test
    void metricsOfDifferentNamesDoNotMix() {
        Hvd.spawn(2, hvd -> {
            MeanMetric loss = new MeanMetric("loss");
            MeanMetric accuracy = new MeanMetric("accuracy");
            loss.add(1 + hvd.rank(), 1);
            accuracy.add(100 + hvd.rank(), 1);
            assertThat(accuracy.reduce(hvd).mean()).isEqualTo(100.5);
            assertThat(loss.reduce(hvd).mean()).isEqualTo(1.5);
            assertThat(loss.reduce(hvd).mean())
                    .as("asking again changes nothing")
                    .isEqualTo(1.5);
            return null;
        });
    }
}
