package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;
import io.hvd.Hvd;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RankSamplerTest {
    /** The batches of two epochs of 10 samples, after another. */
    private static List<List<Long>> twoEpochs(Sampler sampler) {
        try (NDManager manager = NDManager.newBaseManager()) {
            ArrayDataset ten = new ArrayDataset.Builder()
                    .setData(manager.create(new float[10]))
                    .setSampling(sampler)
                    .build();
            List<List<Long>> batches = new ArrayList<>();
            sampler.sample(ten).forEachRemaining(batches::add);
            sampler.sample(ten).forEachRemaining(batches::add);
            return batches;
        }
    }

    @Test
    void allRanksTrainOnAsManySamplesWhichTogetherAreAllOfThemInAnotherOrderEachEpoch() {
        List<List<List<Long>>> ranks = Hvd.spawn(3, hvd -> twoEpochs(RankSampler.training(hvd, 3)));

        assertThat(ranks)
                .allSatisfy(
                        batches -> assertThat(batches.stream().map(List::size)).containsExactly(3, 1, 3, 1));
        for (int epoch = 0; epoch < 2; epoch++) {
            int first = 2 * epoch;
            assertThat(ranks.stream()
                            .flatMap(rank ->
                                    rank.subList(first, first + 2).stream().flatMap(List::stream)))
                    .hasSize(12)
                    .containsOnly(LongStream.range(0, 10).boxed().toArray(Long[]::new));
        }
        assertThat(ranks.get(0).subList(0, 2)).isNotEqualTo(ranks.get(0).subList(2, 4));
    }

    @Test
    void evaluationSeesEachSampleOnce() {
        List<List<List<Long>>> ranks = Hvd.spawn(3, hvd -> twoEpochs(RankSampler.evaluation(hvd, 4)));

        assertThat(ranks.stream().flatMap(List::stream).flatMap(List::stream).sorted())
                .containsExactlyElementsOf(IntStream.range(0, 20)
                        .mapToObj(place -> (long) place / 2)
                        .toList());
    }

    @Test
    void aResumedTrainingGoesOnWithTheOrderOfItsEpoch() {
        Hvd.spawn(2, hvd -> {
            List<List<Long>> all = twoEpochs(RankSampler.training(hvd, 5, 7));
            RankSampler resumed = RankSampler.training(hvd, 5, 7);
            resumed.setEpoch(1);
            assertThat(twoEpochs(resumed).get(0)).isEqualTo(all.get(1));
            return null;
        });
    }
}
