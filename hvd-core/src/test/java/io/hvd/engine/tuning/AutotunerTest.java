package io.hvd.engine.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.config.Setting;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import io.hvd.testing.StandardError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rank 0's tuner beside a made-up training, whose clock is the test's own. */
class AutotunerTest {
    private static final long BYTES = 1 << 20;
    private static final long MILLI = 1_000_000;
    private static final int PLAN_STEPS = 4;
    private static final EngineSettings ENGINE =
            new EngineSettings(128 << 20, true, MILLI, 1024, PLAN_STEPS, false, false, 0, 0);

    private static final Autotuner.Job JOB =
            new Autotuner.Job(1, Optional.of("all ranks share one memory"), () -> false);

    @TempDir
    private Path folder;

    private final List<Tuning> sent = new ArrayList<>();
    private Autotuner tuner;
    private Tunable holds = Tunable.of(ENGINE);
    private long bytes = BYTES;
    private long now;
    private int steps;

    private Path log() {
        return folder.resolve("tune.csv");
    }

    private void tune(boolean plans, Path log, Setting... fixed) {
        AutotuneSettings settings =
                new AutotuneSettings(true, Optional.of(log), 2, 5, 0, 20, Set.of(fixed), false, true);
        EngineSettings engine = plans ? ENGINE : new EngineSettings(128 << 20, true, MILLI, 0, 0, false, false, 0, 0);
        tuner = new Autotuner(settings, engine, new StepStudy(engine, true), JOB);
    }

    /** Steps in a static plan, which the ranks leave for other settings, until the end of the search. */
    private void trainInPlans(ToLongFunction<Tunable> stepNanos) {
        negotiate(stepNanos, PLAN_STEPS);
        tuner.planBegan();
        while (!tuner.isOver()) {
            steps++;
            boolean leaves = tuner.ranStep(bytes, now += stepNanos.applyAsLong(holds));
            deliver();
            if (leaves) {
                tuner.planEnded();
                negotiate(stepNanos, PLAN_STEPS);
                tuner.planBegan();
            }
        }
    }

    private void negotiate(ToLongFunction<Tunable> stepNanos, int count) {
        for (int i = 0; i < count; i++) {
            steps++;
            tuner.ran(List.of("a"), bytes, now += stepNanos.applyAsLong(holds));
            deliver();
        }
    }

    private void deliver() {
        Tuning wish = tuner.takeWish();
        if (wish != null) {
            sent.add(wish);
            holds = wish.settings();
            tuner.applied(wish);
        }
    }

    private static long quickBelow256KiB(Tunable settings) {
        return settings.fusionThresholdBytes() == 256 << 10 ? 5 * MILLI : 10 * MILLI;
    }

    @Test
    void theBestSettingsAreSentToAllRanksWithTheResultAndEndTheLog() throws IOException {
        tune(true, log());
        trainInPlans(AutotunerTest::quickBelow256KiB);

        Tunable best = new Tunable(256 << 10, MILLI, 0, 0);
        Tuning last = sent.get(sent.size() - 1);
        assertThat(last.settings()).isEqualTo(best);
        assertThat(last.result())
                .startsWith("autotune: chose HOROVOD_FUSION_THRESHOLD=262144 instead of 134217728. ")
                .contains("takes 5.000 ms, with the settings of the start 10.000 ms", "2.00 times as fast")
                .containsPattern("In 12 comparisons within [1-9]\\.\\d s it is");
        assertThat(sent.subList(0, sent.size() - 1)).extracting(Tuning::result).containsOnly("");
        assertThat(holds).isEqualTo(best);

        List<String> lines = Files.readAllLines(log());
        assertThat(lines.get(0))
                .startsWith(
                        "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,"
                                + "cycle_time_ms,tensor_fusion_threshold,score,step_ms,step_bytes,static_plan,bucket_bytes,phase");
        assertThat(lines.get(1)).isEqualTo("0,0,1,1,1.0,128.0,104.858,10.000,1048576,1,0,warmup");
        assertThat(lines.get(lines.size() - 1)).isEqualTo("0,0,1,1,1.0,0.25,209.715,5.000,1048576,1,0,best");
        assertThat(lines.stream().filter(line -> line.endsWith("comparison"))).hasSize(2 * PairedComparison.PAIRS);
    }

    @Test
    void whatGainsNothingLeavesTheStartAsItWas() throws IOException {
        tune(true, log());
        trainInPlans(settings -> 10 * MILLI);

        assertThat(holds).isEqualTo(Tunable.of(ENGINE));
        assertThat(sent.get(sent.size() - 1).result())
                .startsWith(
                        "autotune: keeps HOROVOD_CYCLE_TIME=1.0 and HOROVOD_FUSION_THRESHOLD=134217728 and HVD_BUCKET_BYTES=0: ")
                .contains(
                        "HVD_BUCKET_BYTES has no effect without a DistributedOptimizer",
                        "HOROVOD_HIERARCHICAL_ALLREDUCE gives no choice here, because all ranks share one memory, and was not tuned.");
        assertThat(Files.readString(log())).endsWith(",best\n");
        int before = sent.size();
        assertThat(tuner.ranStep(BYTES, now + 1)).as("it is over").isFalse();
        assertThat(sent).hasSize(before);
    }

    @Test
    void valuesThatWereSetStay() {
        tune(false, log(), Setting.FUSION_THRESHOLD);
        while (!tuner.isOver()) {
            negotiate(settings -> settings.cycleNanos() == 5 * MILLI ? 5 * MILLI : 10 * MILLI, 1);
        }

        assertThat(sent)
                .extracting(tuning -> tuning.settings().fusionThresholdBytes())
                .containsOnly(128L << 20);
        assertThat(holds.cycleNanos()).isEqualTo(5 * MILLI);
        assertThat(sent.get(sent.size() - 1).result())
                .contains(
                        "chose HOROVOD_CYCLE_TIME=5.0 instead of 1.0",
                        "Set by the job, and so not tuned: HOROVOD_FUSION_THRESHOLD.");
    }

    /** Steps of which a part ran without some ranks are in no sample, however many they are. */
    @Test
    void whatRunsWhileRanksHaveJoinedIsInNoSample() throws IOException {
        tune(false, log());
        negotiate(settings -> 10 * MILLI, 3);
        for (int i = 0; i < 50; i++) {
            tuner.ran(List.of("a"), bytes, now += MILLI / 2);
            tuner.ranWithoutSome();
            now += MILLI / 2;
        }
        negotiate(settings -> 10 * MILLI, 200);

        assertThat(Files.readAllLines(log()).stream().skip(1).map(line -> line.split(",")[7]))
                .hasSizeGreaterThan(3)
                .containsOnly("10.000");
    }

    @Test
    void aProgramThatDoesSomethingElseBeginsTheSearchAnew() {
        tune(true, log());
        trainInPlans(settings -> {
            if (steps == 100) {
                bytes = 2 * BYTES;
            }
            return quickBelow256KiB(settings);
        });
        assertThat(holds.fusionThresholdBytes()).isEqualTo(256 << 10);

        sent.clear();
        steps = 0;
        bytes = BYTES;
        holds = Tunable.of(ENGINE);
        tune(true, log());
        trainInPlans(settings -> {
            bytes = steps / 100 % 2 == 0 ? BYTES : 2 * BYTES;
            return quickBelow256KiB(settings);
        });
        assertThat(holds).isEqualTo(Tunable.of(ENGINE));
        assertThat(sent.get(sent.size() - 1).result()).contains("the bytes of a step have changed");
    }

    @Test
    void aLogThatCannotBeWrittenCostsOneWarningWithItsNameAndTheVariable() throws Exception {
        Path missing = folder.resolve("no").resolve("tune.csv");
        String said = StandardError.during(() -> {
            tune(true, missing);
            trainInPlans(AutotunerTest::quickBelow256KiB);
        });

        assertThat(said.lines().filter(line -> line.contains("WARN")))
                .singleElement()
                .asString()
                .contains("HOROVOD_AUTOTUNE_LOG=" + missing, "cannot be written", "NoSuchFileException");
        assertThat(holds.fusionThresholdBytes()).isEqualTo(256 << 10);
    }

    @Test
    void anEndBeforeTheChoiceLeavesALogWhoseLastLineHasTheStart() throws IOException {
        tune(true, log());
        tuner.planBegan();
        for (int i = 0; i < 80; i++) {
            tuner.ranStep(BYTES, now += 10 * MILLI);
            deliver();
        }
        tuner.close();

        List<String> lines = Files.readAllLines(log());
        assertThat(lines.get(lines.size() - 1)).startsWith("0,0,1,1,1.0,128.0,").endsWith(",unfinished");
    }
}
