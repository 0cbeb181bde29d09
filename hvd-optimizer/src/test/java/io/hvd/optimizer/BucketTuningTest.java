package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Optimizers whose groups of gradients autotuning changes between their steps. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class BucketTuningTest {
    private static final int RANKS = 3;
    private static final int STEPS = 150;
    private static final int[] ELEMENTS = {300, 1, 4_000, 17, 9_000, 2_000, 2, 12_000};
    /** Every step is a sample, after which other settings may hold, and the search never ends. */
    private static final Map<String, String> RESTLESS = Map.of(
            "HOROVOD_AUTOTUNE", "1",
            "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0",
            "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1",
            "HVD_AUTOTUNE_SAMPLE_MILLIS", "0",
            "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "1000000",
            "HVD_STATIC_PLAN_STEPS", "3");

    /** What a rank has seen: the weights at the end, and the sizes of buckets that held. */
    private record Seen(List<float[]> weights, Set<String> sizes) {}

    /**
     * With the first two seeds thresholds change as well, and buckets if the search comes that far; with the others buckets do
     * from the first sample on. Even seeds have a process set with an optimizer of its own, the others accumulate. A rank is late
     * now and then, and one joins.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void weightsAreTheSameToTheLastBitWhateverTheBucketsAre(long seed) {
        List<Seen> plain = train(seed, Map.of("HVD_STATIC_PLAN_STEPS", "3"));
        List<Seen> tuned = train(seed, seed > 2 ? ofBuckets() : RESTLESS);

        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(plain.get(rank).sizes()).containsExactly("0");
            for (int i = 0; i < ELEMENTS.length; i++) {
                assertThat(tuned.get(rank).weights().get(i))
                        .as("weights " + i + " of rank " + rank + ", seed " + seed)
                        .isEqualTo(plain.get(0).weights().get(i))
                        .isNotEqualTo(new float[ELEMENTS[i]]);
            }
        }
        if (seed > 2) {
            assertThat(tuned.get(1).sizes())
                    .as("sizes that rank 1 has seen, seed " + seed)
                    .hasSizeGreaterThan(2);
        }
    }

    private static List<Seen> train(long seed, Map<String, String> settings) {
        InitOptions options =
                InitOptions.standard().withProcessSets(seed % 2 == 0 ? List.of(List.of(0, 2)) : List.of());
        return LocalRanks.spawn(RANKS, options, settings, hvd -> new Trainee(hvd, seed).train());
    }

    /** One rank's training. */
    private static final class Trainee {
        private final HvdContext hvd;
        private final Random common;
        /** For gradients, the same in every training. */
        private final Random own;

        private final Random shuffling = new Random();
        private final int passes;
        private final List<float[]> gradients = new ArrayList<>();
        private final List<float[]> values = new ArrayList<>();
        private final DistributedOptimizer optimizer;
        private final float[] besideGradient = new float[5_000];
        /** Null where no process set is. */
        private final DistributedOptimizer ofSome;

        Trainee(HvdContext hvd, long seed) {
            this.hvd = hvd;
            this.common = new Random(seed);
            this.own = new Random(seed * 100 + hvd.rank());
            this.passes = seed % 2 == 0 ? 1 : 2;
            ArrayParameters parameters = new ArrayParameters();
            for (int i = 0; i < ELEMENTS.length; i++) {
                values.add(new float[ELEMENTS[i]]);
                gradients.add(new float[ELEMENTS[i]]);
                parameters.add("w" + i, values.get(i), gradients.get(i));
            }
            this.optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1))
                    .context(hvd)
                    .backwardPassesPerStep(passes)
                    .build();
            this.ofSome = hvd.processSets().containsKey(1)
                    ? DistributedOptimizer.wrap(
                                    new Sgd(new ArrayParameters().add("b", new float[5_000], besideGradient), 0.1))
                            .context(hvd)
                            .processSet(hvd.processSets().get(1))
                            .build()
                    : null;
        }

        Seen train() {
            Set<String> sizes = new HashSet<>();
            for (int step = 0; step < STEPS; step++) {
                beside(common.nextInt(20), step);
                step(optimizer, gradients, passes);
                sizes.add(hvd.tunedSettings().get("HVD_BUCKET_BYTES"));
            }
            for (int step = STEPS; hvd.rank() > 0 && step < STEPS + 10; step++) {
                step(optimizer, gradients, passes);
            }
            optimizer.join(JoinDivisor.ACTIVE);
            return new Seen(values, sizes);
        }

        private void beside(int what, int step) {
            if (what == 0) {
                assertThat(hvd.broadcast("b" + step, Tensor.of((float) hvd.rank()), 1)
                                .item())
                        .isEqualTo(1);
            } else if (what == 1 && hvd.rank() == step % RANKS) {
                late();
            } else if (what > 1 && what < 5 && ofSome != null && hvd.rank() != 1) {
                step(ofSome, List.of(besideGradient), 1);
            }
        }

        /** Takes as long as some steps of the others. */
        private void late() {
            double sum = 0;
            for (int i = 0; i < 1_000_000; i++) {
                sum += Math.sin(i);
            }
            assertThat(sum).isFinite();
        }

        /** Each rank has gradients and an order of its own. */
        private void step(DistributedOptimizer stepping, List<float[]> its, int count) {
            its.forEach(gradient -> Arrays.fill(gradient, 0)); // as a program may that never calls zeroGradients()
            for (int pass = 0; pass < count; pass++) {
                List<Integer> order =
                        new ArrayList<>(IntStream.range(0, its.size()).boxed().toList());
                for (float[] gradient : its) {
                    for (int i = 0; i < gradient.length; i++) {
                        gradient[i] += own.nextFloat() - 0.5f;
                    }
                }
                Collections.shuffle(order, shuffling);
                order.forEach(stepping::gradientReady);
            }
            assertThatThrownBy(stepping::zeroGradients)
                    .as("buckets have left when their last gradients were ready")
                    .hasMessageContaining("are being averaged");
            stepping.step();
        }
    }

    /** For every other size the ranks leave their static plan, and soon follow one that was made for it. */
    @Test
    void theSearchEndsWithALogOfTheBucketsAndALine(@TempDir Path folder) throws Exception {
        Path log = folder.resolve("tune.csv");
        Map<String, String> settings = Map.of(
                "HOROVOD_AUTOTUNE", "1",
                "HOROVOD_AUTOTUNE_LOG", log.toString(),
                "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "2",
                "HOROVOD_FUSION_THRESHOLD", "1048576",
                "HVD_AUTOTUNE_SAMPLE_MILLIS", "0",
                "HVD_STATIC_PLAN_STEPS", "3");
        List<String> lines = LocalRanks.spawn(2, InitOptions.standard(), settings, hvd -> {
            Trainee trainee = new Trainee(hvd, 1);
            Tensor over = Tensor.of(0f);
            while (hvd.allreduce("over", over, AllreduceOptions.sum()).item() < 2) {
                trainee.step(trainee.optimizer, trainee.gradients, trainee.passes);
                over = Tensor.of(hvd.autotuneResult().isPresent() ? 1f : 0f);
            }
            return hvd.autotuneResult().orElseThrow();
        });

        assertThat(lines.get(0))
                .isEqualTo(lines.get(1))
                .contains(
                        "autotune: ",
                        "HOROVOD_HIERARCHICAL_ALLREDUCE gives no choice here, because all ranks share one memory");
        List<String[]> rows =
                Files.readAllLines(log).stream().map(row -> row.split(",")).toList();
        int column = List.of(rows.get(0)).indexOf("bucket_bytes");
        assertThat(rows.stream()
                        .filter(row -> row[row.length - 1].equals("search"))
                        .map(row -> row[column]))
                .as("a step has 109,280 bytes; half of them and quarters of that")
                .contains("0", "65536", "16384", "4096");
        int plan = List.of(rows.get(0)).indexOf("static_plan");
        assertThat(rows.stream().filter(row -> row[plan].equals("1")).map(row -> row[column]))
                .as("sizes under which a plan was made")
                .contains("0", "65536", "16384", "4096");
        String[] best = rows.get(rows.size() - 1);
        assertThat(best[best.length - 1]).isEqualTo("best");
        assertThat(lines.get(0).contains("autotune: chose HVD_BUCKET_BYTES=" + best[column]))
                .isEqualTo(!best[column].equals("0"));
    }

    /** A reducer's memory belongs to its buckets. */
    @Test
    void sizesThatTheProgramOrTheJobHasSaidAndThoseOfReducersStay() {
        Map<String, String> job = ofBuckets();
        assertThat(sizes(job, builder -> builder))
                .as("nobody has said anything")
                .hasSizeGreaterThan(1);
        assertThat(sizes(job, builder -> builder.bucketBytes(64))).containsExactly("0");
        assertThat(sizes(job, builder -> builder.numGroups(2))).containsExactly("0");
        assertThat(sizes(
                        job,
                        builder -> builder.reducer(
                                bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket))))
                .containsExactly("0");
        job.put("HVD_BUCKET_BYTES", "64");
        assertThat(sizes(job, builder -> builder)).containsExactly("64");
    }

    /** Restless, but for the threshold, so that sizes of buckets come first. */
    private static Map<String, String> ofBuckets() {
        Map<String, String> job = new HashMap<>(RESTLESS);
        job.put("HOROVOD_FUSION_THRESHOLD", "32768");
        return job;
    }

    /** The values of HVD_BUCKET_BYTES that a rank has seen, with averages that are right. */
    private static Set<String> sizes(Map<String, String> job, UnaryOperator<DistributedOptimizerBuilder> settings) {
        return LocalRanks.spawn(2, InitOptions.standard(), job, hvd -> {
                    Set<String> seen = new TreeSet<>();
                    List<float[]> gradients = List.of(new float[20_000], new float[20_000]);
                    ArrayParameters parameters = new ArrayParameters();
                    for (int i = 0; i < 2; i++) {
                        parameters.add("w" + i, new float[20_000], gradients.get(i));
                    }
                    DistributedOptimizer optimizer = settings.apply(DistributedOptimizer.wrap(new Sgd(parameters, 0.1))
                                    .context(hvd))
                            .build();
                    for (int step = 0; step < 60; step++) {
                        optimizer.zeroGradients();
                        gradients.forEach(gradient -> Arrays.fill(gradient, hvd.rank()));
                        optimizer.step();
                        assertThat(gradients.get(step % 2)[step]).isEqualTo(0.5f);
                        seen.add(hvd.tunedSettings().get("HVD_BUCKET_BYTES"));
                    }
                    return seen;
                })
                .get(1);
    }
}
