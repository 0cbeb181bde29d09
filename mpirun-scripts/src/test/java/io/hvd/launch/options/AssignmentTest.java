package io.hvd.launch.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.launch.words.UsageException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AssignmentTest {

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb=2,HOROVOD_FUSION_THRESHOLD,2097152",
        "--fusion-threshold-mb=0,HOROVOD_FUSION_THRESHOLD,0",
        "--cycle-time-ms=0.5,HOROVOD_CYCLE_TIME,0.5",
        "--cache-capacity=0,HOROVOD_CACHE_CAPACITY,0",
        "--hierarchical-allreduce,HOROVOD_HIERARCHICAL_ALLREDUCE,1",
        "--no-hierarchical-allreduce,HOROVOD_HIERARCHICAL_ALLREDUCE,0",
        "--torus-allreduce,HOROVOD_TORUS_ALLREDUCE,1",
        "--no-torus-allreduce,HOROVOD_TORUS_ALLREDUCE,0",
        "--autotune,HOROVOD_AUTOTUNE,1",
        "--no-autotune,HOROVOD_AUTOTUNE,0",
        "--autotune-log-file=a.csv,HOROVOD_AUTOTUNE_LOG,a.csv",
        "--autotune-warmup-samples=0,HOROVOD_AUTOTUNE_WARMUP_SAMPLES,0",
        "--autotune-steps-per-sample=4,HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE,4",
        "--autotune-bayes-opt-max-samples=5,HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES,5",
        "--timeline-filename=t.json,HOROVOD_TIMELINE,t.json",
        "--timeline-mark-cycles,HOROVOD_TIMELINE_MARK_CYCLES,1",
        "--no-timeline-mark-cycles,HOROVOD_TIMELINE_MARK_CYCLES,0",
        "--stall-check,HOROVOD_STALL_CHECK_DISABLE,0",
        "--no-stall-check,HOROVOD_STALL_CHECK_DISABLE,1",
        "--stall-check-warning-time-seconds=7,HOROVOD_STALL_CHECK_TIME_SECONDS,7",
        "--stall-check-shutdown-time-seconds=0,HOROVOD_STALL_SHUTDOWN_TIME_SECONDS,0",
        "--mpi-threads-disable,HOROVOD_MPI_THREADS_DISABLE,1",
        "--no-mpi-threads-disable,HOROVOD_MPI_THREADS_DISABLE,0",
        "--log-level=FATAL,HOROVOD_LOG_LEVEL,FATAL",
        "--log-with-timestamp,HOROVOD_LOG_HIDE_TIME,0",
        "--no-log-hide-timestamp,HOROVOD_LOG_HIDE_TIME,0",
        "--log-without-timestamp,HOROVOD_LOG_HIDE_TIME,1",
        "--log-hide-timestamp,HOROVOD_LOG_HIDE_TIME,1",
        "--start-timeout=5,HOROVOD_START_TIMEOUT,5",
        "--gloo-timeout-seconds=5,HOROVOD_GLOO_TIMEOUT_SECONDS,5",
        "--verbose,HVD_SHOW_RANKS,1",
        "--tcp,NCCL_IB_DISABLE,1"
    })
    void aFlagSetsItsVariable(String flag, String variable, String value) {
        LaunchSettings settings = parse("-np", "1", flag, "true");

        assertThat(settings.assignments())
                .containsExactly(new Assignment(variable, value, flag.replaceFirst("=.*", "")));
        assertThat(HvdConfig.from(Map.of(variable, value))).isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb,-1",
        "--cycle-time-ms,-0.5",
        "--cache-capacity,-2",
        "--autotune-warmup-samples,-1",
        "--autotune-steps-per-sample,x",
        "--autotune-bayes-opt-max-samples,-1",
        "--autotune-gaussian-process-noise,1.5",
        "--stall-check-warning-time-seconds,-1",
        "--stall-check-shutdown-time-seconds,-1",
        "--start-timeout,0",
        "--log-level,LOUD",
        "--num-nccl-streams,-1",
        "--gloo-timeout-seconds,-1",
        "--thread-affinity,'0,'"
    })
    void aBadValueIsNamedWithItsFlag(String flag, String value) {
        assertThatThrownBy(() -> parse("-np", "1", flag, value, "true"))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith(flag + " " + value + ": ");
    }

    @Test
    void ofTwoThatContradictEachOtherTheLaterCounts() {
        assertThat(parse("-np", "1", "--autotune", "--no-autotune", "true").assignments())
                .containsExactly(new Assignment("HOROVOD_AUTOTUNE", "0", "--no-autotune"));
        assertThat(parse("-np", "1", "--no-autotune", "--autotune", "true").assignments())
                .containsExactly(new Assignment("HOROVOD_AUTOTUNE", "1", "--autotune"));
    }

    private static LaunchSettings parse(String... args) {
        return LaunchOptions.parse(Map.of(), args);
    }
}
