package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.checkpoint.TrainingState;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A DJL training in an elastic job, whose generations are jobs of threads, one after the other. */
@Timeout(120)
class ElasticModelTest {
    private static final int SAMPLES = 4;

    /** A worker that lives through several generations. */
    private static final class Worker {
        final Model model;
        final DefaultTrainingConfig config;
        final TrainingState<io.hvd.optimizer.Optimizer> state;

        /** @param number of what differs between workers that have not met */
        Worker(HvdContext hvd, int number) {
            model = TinyTask.model(hvd, true);
            config = TinyTask.config(Optimizer.adam()
                    .optLearningRateTracker(Tracker.multiFactor()
                            .setBaseValue(0.05f)
                            .setSteps(new int[] {2, 4})
                            .optFactor(0.5f)
                            .build())
                    .build());
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, TinyTask.INPUT);
            ElasticModel elastic = ElasticModel.of(model, config);
            elastic.values().values().forEach(value -> add(number, value));
            state = TrainingState.of(ranks -> elastic.optimizer())
                    .model(elastic::values, elastic::load)
                    .build();
        }

        private static void add(int number, Tensor value) {
            float[] sums = value.toFloatArray();
            for (int i = 0; i < sums.length; i++) {
                sums[i] += number;
            }
            value.copyFrom(Tensor.wrap(sums, DType.FLOAT32, value.shape()));
        }

        void backward(Trainer trainer, int sample) {
            float[] x = waves(3 * SAMPLES, sample);
            float[] y = waves(2 * SAMPLES, -sample);
            try (GradientCollector collector = trainer.newGradientCollector()) {
                var manager = trainer.getManager();
                NDList out = trainer.forward(new NDList(manager.create(x, new Shape(SAMPLES, 3))));
                NDList labels = new NDList(manager.create(y, new Shape(SAMPLES, 2)));
                collector.backward(trainer.getLoss().evaluate(labels, out));
            }
        }

        private static float[] waves(int count, int from) {
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = (float) Math.sin(1.7 * i + from);
            }
            return values;
        }

        void generation(HvdContext hvd, int root, int from, int to) {
            state.sync(hvd, root);
            try (Trainer trainer = DistributedTrainer.of(hvd, model, config)) {
                for (int step = from; step < to; step++) {
                    backward(trainer, 31 * step + hvd.rank());
                    trainer.step();
                    state.committed();
                }
            }
        }

        String bits() {
            StringBuilder bits =
                    new StringBuilder(Arrays.toString(state.optimizer().saveState()));
            TinyTask.weights(model).forEach((name, values) -> bits.append(name).append(Arrays.toString(values)));
            return bits.toString();
        }
    }

    private static List<Worker> workers(int count) {
        return Hvd.spawn(
                        1,
                        hvd -> IntStream.range(0, count)
                                .mapToObj(number -> new Worker(hvd, number))
                                .toList())
                .get(0);
    }

    private static void generation(List<Worker> workers, int root, int from, int to) {
        Hvd.spawn(workers.size(), hvd -> {
            workers.get(hvd.rank()).generation(hvd, root, from, to);
            return null;
        });
    }

    @Test
    void aTrainingInTwoGenerationsHasTheBitsOfOneInOneGeneration() {
        List<Worker> whole = workers(2);
        generation(whole, 0, 0, 6);
        List<Worker> parts = workers(2);
        generation(parts, 0, 0, 3);
        generation(parts, 1, 3, 6);
        assertThat(parts).extracting(Worker::bits).containsOnly(whole.get(0).bits());
    }

    @Test
    void aRankThatComesHasTheRootsValuesAndMomentsToTheLastBit() {
        List<Worker> workers = workers(3);
        generation(workers.subList(1, 3), 0, 0, 3); // worker 0 comes later, as rank 0
        String root = workers.get(2).bits();
        generation(workers, 2, 0, 0);
        assertThat(workers).extracting(Worker::bits).containsOnly(root);
        generation(workers, 2, 3, 5);
        assertThat(workers)
                .extracting(Worker::bits)
                .containsOnly(workers.get(0).bits())
                .doesNotContain(root);
    }

    @Test
    void whatAnAbandonedStepHasAddedToTheGradientsIsDropped() {
        List<Worker> undisturbed = workers(1);
        generation(undisturbed, 0, 0, 4);
        List<Worker> workers = workers(1);
        generation(workers, 0, 0, 2);
        Worker one = workers.get(0);
        Runnable back = one.state.backup();
        Hvd.spawn(1, hvd -> {
            try (Trainer trainer = DistributedTrainer.of(hvd, one.model, one.config)) {
                one.backward(trainer, 1000);
            }
            return null;
        });
        one.state.abandoned();
        back.run(); // the running means, which have seen the batch
        generation(workers, 0, 2, 4);
        assertThat(one.bits()).isEqualTo(undisturbed.get(0).bits());
    }

    @Test
    void aModelWithoutValuesIsRefused() {
        Hvd.spawn(1, hvd -> {
            try (Model model = TinyTask.model(hvd, false)) {
                assertThatThrownBy(() -> ElasticModel.of(
                                model, TinyTask.config(Optimizer.adam().build())))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                        .hasMessageContainingAll("\"tiny\"", "initialize(");
            }
            return null;
        });
    }
}
