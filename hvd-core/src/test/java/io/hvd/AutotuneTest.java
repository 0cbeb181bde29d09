package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks whose settings autotuning changes while they reduce tensors of many sizes. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class AutotuneTest {
    private static final int RANKS = 3;
    private static final int STEPS = 120;
    private static final int[] ELEMENTS = {1, 30_000, 17, 4_000, 4_000, 9_000, 2, 50_000};
    /** Every step is a sample, after which other settings may hold. */
    private static final Map<String, String> RESTLESS = Map.of(
            "HOROVOD_AUTOTUNE", "1",
            "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0",
            "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1",
            "HVD_AUTOTUNE_SAMPLE_MILLIS", "0",
            "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "1000000",
            "HVD_STATIC_PLAN_STEPS", "3");

    /** In some steps there is something besides; the first rank has fewer steps than the others and joins. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void resultsAreExactWhicheverSettingsHold(long seed) {
        List<Set<Map<String, String>>> seen = LocalRanks.spawn(
                RANKS,
                InitOptions.standard().withProcessSets(seed % 2 == 0 ? List.of() : List.of(List.of(0, 2))),
                RESTLESS,
                hvd -> {
                    Random common = new Random(seed);
                    Random own = new Random(seed * 100 + hvd.rank());
                    Set<Map<String, String>> settings = new HashSet<>();
                    for (int step = 0; step < STEPS; step++) {
                        beside(hvd, common.nextInt(40), step);
                        step(hvd, step, own, RANKS * (RANKS - 1) / 2f);
                        settings.add(hvd.tunedSettings());
                    }
                    for (int step = STEPS; hvd.rank() > 0 && step < STEPS + 20; step++) {
                        step(hvd, step, own, RANKS * (RANKS - 1) / 2f);
                    }
                    hvd.join();
                    return settings;
                });
        assertThat(seen)
                .as("seed " + seed)
                .allSatisfy(settings -> assertThat(settings).hasSizeGreaterThan(4));
    }

    private static void beside(HvdContext hvd, int what, int step) {
        if (what == 0) {
            assertThat(hvd.broadcast("b" + step, Tensor.of((float) hvd.rank()), 1)
                            .item())
                    .isEqualTo(1);
        } else if (what == 1) {
            assertThat(hvd.allgather("g" + step, Tensor.of(new float[hvd.rank() + 1]))
                            .shape()
                            .elements())
                    .isEqualTo(6);
        } else if (what < 4) {
            hvd.processSets().values().stream()
                    .filter(set -> set.id() > 0 && set.included())
                    .forEach(set -> assertThat(set.allreduce("s" + step, Tensor.of(1f), AllreduceOptions.sum())
                                    .item())
                            .isEqualTo(2));
        }
    }

    /** Each rank has an order of its own. */
    private static void step(HvdContext hvd, int step, Random own, float ranks) {
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, ELEMENTS.length).boxed().toList());
        Collections.shuffle(order, own);
        Map<Integer, Tensor> tensors = new TreeMap<>();
        List<Handle> handles = new ArrayList<>();
        boolean all = step < STEPS;
        for (int i : order) {
            float[] values = new float[ELEMENTS[i]];
            Arrays.fill(values, hvd.rank() + i + step);
            tensors.put(i, Tensor.of(values));
            handles.add(hvd.allreduceInPlaceAsync("t" + i, tensors.get(i), AllreduceOptions.sum()));
        }
        handles.forEach(Handle::synchronize);
        tensors.forEach((i, tensor) -> {
            float expected = ranks + (all ? RANKS : RANKS - 1) * (i + step);
            for (float value : tensor.toFloatArray()) {
                if (value != expected) {
                    throw new AssertionError(
                            "tensor " + i + " in step " + step + ": " + value + " instead of " + expected);
                }
            }
        });
    }

    @Test
    void withOneRankOrWithoutTheSettingNothingIsTuned(@TempDir Path folder) {
        Path log = folder.resolve("tune.csv");
        Map<String, String> off = Map.of("HOROVOD_AUTOTUNE_LOG", log.toString());
        LocalRanks.spawn(2, InitOptions.standard(), off, hvd -> {
            assertThat(hvd.autotuneResult()).isEmpty();
            assertThat(hvd.tunedSettings())
                    .containsExactlyInAnyOrderEntriesOf(Map.of(
                            "HOROVOD_CYCLE_TIME", "1.0",
                            "HOROVOD_FUSION_THRESHOLD", "134217728",
                            "HVD_BUCKET_BYTES", "0"));
            return null;
        });
        LocalRanks.spawn(1, InitOptions.standard(), RESTLESS, hvd -> {
            for (int step = 0; step < 50; step++) {
                hvd.allreduce("t", Tensor.of(new float[10_000]), AllreduceOptions.sum());
            }
            assertThat(hvd.autotuneResult()).isEmpty();
            return null;
        });
        assertThat(Files.exists(log)).isFalse();
    }
}
