package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OtherVariablesTest {
    private static HvdConfig with(String variable, String value) {
        return HvdConfig.from(Map.of(variable, value));
    }

    private static void refused(String variable, String value, String... facts) {
        assertThatThrownBy(() -> with(variable, value))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_SETTING))
                .message()
                .contains(variable)
                .contains(facts);
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_AUTOTUN, HOROVOD_AUTOTUNE?",
        "HOROVOD_FUSION_TRESHOLD, HOROVOD_FUSION_THRESHOLD?",
        "HVD_BACK_END, HVD_BACKEND?",
        "HOROVOD_STALL_CHECK_TIME, HOROVOD_STALL_CHECK_TIME_SECONDS?",
    })
    void anUnknownNameGetsTheNearestKnownOne(String variable, String suggested) {
        refused(variable, "1", "did you mean " + suggested);
    }

    @Test
    void anUnknownNameThatResemblesNothingIsAnErrorAllTheSame() {
        refused("HVD_ZZZZZZZZZZZZ", "1", "docs/reference/settings.md");
    }

    /** Jobs were given a cost model by it once; now the benchmarks alone read one. */
    @Test
    void aCostModelIsNoSettingOfAJob() {
        refused("HVD_COST_MODEL", "cost-model.json", "there is no such setting");
    }

    @Test
    void otherPeoplesVariablesAreNotLookedAt() {
        assertThat(HvdConfig.from(Map.of("PATH", "/bin", "_HOROVOD_SECRET_KEY", "x", "HVDX", "1", "HOROVODX", "1")))
                .isEqualTo(HvdConfig.from(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_CPU_OPERATIONS, CCL, gloo",
        "HOROVOD_CONTROLLER, nonsense, gloo",
        "HOROVOD_ENABLE_XLA_OPS, 1, TensorFlow",
        "HOROVOD_ELASTIC, true, ranks",
    })
    void whatHvdCannotDoIsRefusedWithTheValueAndTheReason(String variable, String value, String reason) {
        refused(variable, value, "\"" + value + "\"", reason);
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_ENABLE_XLA_OPS, false",
        "HOROVOD_ELASTIC, 0",
        "HOROVOD_CONTROLLER, ''",
        "HOROVOD_TORUS_ALLREDUCE, 0",
        "HOROVOD_BATCH_D2D_MEMCOPIES, 1",
        "HOROVOD_BATCH_D2D_MEMCOPIES, true",
        "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE, 0.8",
    })
    void whatAsksForNothingElseThanIsDoneIsAcceptedSilently(String variable, String value) {
        assertThat(with(variable, value)).isEqualTo(HvdConfig.from(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_HIERARCHICAL_ALLGATHER, 1",
        "HOROVOD_BATCH_D2D_MEMCOPIES, 0",
        "HOROVOD_NUM_NCCL_STREAMS, 4",
        "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE, 0.5",
        "HOROVOD_DISABLE_NVTX_RANGES, 1",
        "HOROVOD_CCL_CACHE, 1",
        "HOROVOD_ADASUM_MPI_CHUNK_SIZE, 1024",
        "HOROVOD_THREAD_AFFINITY, '0,1'",
        "HOROVOD_ELASTIC_TIMEOUT, 5",
    })
    void whatHasNoEffectIsAcceptedWithANote(String variable, String value) {
        assertThat(with(variable, value).notes())
                .singleElement()
                .asString()
                .contains(variable + "=" + value, "accepted", "no effect");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HOROVOD_HOSTNAME",
                "HOROVOD_RANK",
                "HOROVOD_SIZE",
                "HOROVOD_LOCAL_RANK",
                "HOROVOD_LOCAL_SIZE",
                "HOROVOD_CROSS_RANK",
                "HOROVOD_CROSS_SIZE",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR",
                "HOROVOD_GLOO_RENDEZVOUS_PORT",
                "HOROVOD_SECRET_KEY",
                "HOROVOD_WITH_MPI",
                "HOROVOD_WITHOUT_TENSORFLOW",
                "HOROVOD_GPU",
                "HOROVOD_GPU_OPERATIONS",
                "HOROVOD_GPU_ALLREDUCE",
                "HOROVOD_GPU_REDUCESCATTER",
                "HOROVOD_NCCL_HOME",
                "HOROVOD_NCCL_LINK",
                "HOROVOD_CUDA_HOME",
                "HOROVOD_ROCM_HOME",
                "HOROVOD_ALLOW_MIXED_GPU_IMPL",
                "HOROVOD_BUILD_ARCH_FLAGS",
                "HOROVOD_BUILD_CUDA_CC_LIST",
                "HOROVOD_CMAKE",
                "HOROVOD_DEBUG",
                "HOROVOD_VERSION",
                "HOROVOD_CUDA_INCLUDE",
                "HOROVOD_SPARK_START_TIMEOUT",
            })
    void whatLaunchersSetOrHorovodsBuildReadIsPassedOver(String variable) {
        assertThat(with(variable, "anything")).isEqualTo(HvdConfig.from(Map.of()));
    }

    @Test
    void notesComeInTheOrderOfTheNames() {
        assertThat(HvdConfig.from(Map.of("HOROVOD_NUM_NCCL_STREAMS", "2", "HOROVOD_CCL_CACHE", "1"))
                        .notes())
                .extracting(note -> note.substring(0, note.indexOf('=')))
                .containsExactly("HOROVOD_CCL_CACHE", "HOROVOD_NUM_NCCL_STREAMS");
    }
}
