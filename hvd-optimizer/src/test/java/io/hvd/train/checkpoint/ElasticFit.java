package io.hvd.train.checkpoint;

import io.hvd.Elastic;
import io.hvd.ObjectCodec;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.data.ResumableSampler;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.train.LearningRate;
import io.hvd.train.Schedule;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** One worker of an elastic job on arrays: an AmpOptimizer around Adam, a sampler and fields. It lives through several generations. */
final class ElasticFit {
    static final int POINTS = 120;
    static final int BATCH = 2;

    final float[] w;
    final float[] b = {0.5f};
    private final float[] wGradient = new float[3];
    private final float[] bGradient = new float[1];
    final ResumableSampler sampler;
    long best;
    double share;
    String word = "";
    List<Integer> list = List.of();
    /** Samples of steps that this worker has committed. */
    final List<Integer> seen = new ArrayList<>();
    /** What schedules were told of each step that was committed. */
    final List<Double> places = new ArrayList<>();

    final TrainingState<AmpOptimizer> state;

    /** @param seed of what differs between workers that have not met yet */
    ElasticFit(float seed, int passes) {
        this(seed, passes, ElasticSampler.builder(POINTS).seed(5).build());
    }

    ElasticFit(float seed, int passes, ResumableSampler sampler) {
        this.sampler = sampler;
        w = new float[] {seed, -seed, 3 * seed};
        var arrays = new ArrayParameters().add("w", w, wGradient).add("b", b, bGradient);
        state = TrainingState.of(hvd -> AmpOptimizer.wrap(DistributedOptimizer.wrap(new Adam(arrays, 0.01))
                                .backwardPassesPerStep(passes)
                                .build())
                        .build())
                .with("sampler", sampler)
                .field("best", () -> best, value -> best = value)
                .field("share", () -> share, value -> share = value)
                .field("word", () -> word, value -> word = value)
                .field("list", () -> list, value -> list = value, new Numbers())
                .build();
    }

    /** Numbers with commas. */
    private static final class Numbers implements ObjectCodec<List<Integer>> {
        @Override
        public byte[] encode(List<Integer> value) {
            return ObjectCodec.utf8()
                    .encode(String.join(",", value.stream().map(String::valueOf).toList()));
        }

        @Override
        public List<Integer> decode(byte[] bytes) {
            return Arrays.stream(ObjectCodec.utf8().decode(bytes).split(",", -1))
                    .filter(text -> !text.isEmpty())
                    .map(Integer::valueOf)
                    .toList();
        }
    }

    /** All that a rank must have from another one, the bits of numbers in place of the numbers. */
    List<Object> bits() {
        return List.of(
                Arrays.toString(Arrays.copyOf(w, w.length)) + Float.floatToRawIntBits(w[0]),
                Float.floatToRawIntBits(b[0]),
                Arrays.toString(state.optimizer().saveState()),
                state.optimizer().scaler().stateDict(),
                state.optimizer().learningRate(),
                sampler.epoch(),
                sampler.done(),
                best,
                Double.doubleToRawLongBits(share),
                word,
                list);
    }

    void backward(List<Integer> batch) {
        state.optimizer().backward(scale -> {
            for (int point : batch) {
                for (int i = 0; i < w.length; i++) {
                    wGradient[i] += (float) (scale * (w[i] - Math.sin(point + i)));
                }
                bGradient[0] += (float) (scale * (b[0] - point));
            }
        });
    }

    DataLoader<Integer, List<Integer>> loader() {
        Dataset<Integer> points = Dataset.of(IntStream.range(0, POINTS).boxed().toList());
        return DataLoader.<Integer, List<Integer>>builder(points, sampler, List::copyOf)
                .batchSize(BATCH)
                .workers(1)
                .build();
    }

    /** Trains by a loop. @param beforeStep is called between backward and the step */
    Training train(Elastic elastic, int epochs, int passes, Consumer<Training> beforeStep) {
        List<Integer> waiting = new ArrayList<>();
        try (var loader = loader()) {
            return TrainingLoop.of(elastic.context(), state.optimizer())
                    .with(new LearningRate(Schedule.fixed(0.01)))
                    .with(new CommitState(elastic, state))
                    .run(epochs, loader, (batch, training) -> {
                        if (waiting.isEmpty()) {
                            state.optimizer().zeroGradients();
                        }
                        backward(batch);
                        waiting.addAll(batch);
                        beforeStep.accept(training);
                        training.metrics().add("samples", batch.size(), batch.size());
                        if ((training.batch() + 1) % passes == 0) {
                            state.optimizer().step();
                            seen.addAll(waiting);
                            waiting.clear();
                            places.add(training.progress());
                        }
                    });
        }
    }
}
