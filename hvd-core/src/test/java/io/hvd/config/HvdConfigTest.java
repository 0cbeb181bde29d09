package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class HvdConfigTest {
    private static HvdConfig with(String variable, String value) {
        return HvdConfig.from(Map.of(variable, value));
    }

    @Test
    void anEmptyEnvironmentGivesTheDocumentedDefaults() {
        HvdConfig config = HvdConfig.from(Map.of());
        assertThat(config.backend()).isEqualTo(BackendChoice.AUTO);
        assertThat(config.openMpiHome()).isEmpty();
        assertThat(config.mpiJar()).isEmpty();
        assertThat(config.fusionThresholdBytes()).isEqualTo(128L << 20);
        assertThat(config.cycleNanos()).isEqualTo(1_000_000);
        assertThat(config.stageBytes()).isEqualTo(4 << 20);
        assertThat(config.pinGpu()).isTrue();
        assertThat(config.shareGpu()).isFalse();
        assertThat(config.threadsPerRank()).isZero();
        assertThat(config.mpiThreadsDisabled()).isFalse();
        assertThat(config.startTimeoutSeconds()).isEqualTo(30);
        assertThat(config.controlInterface()).isEmpty();
        assertThat(config.failureDirectory()).isEmpty();
        assertThat(config.startedByLauncher()).isFalse();
    }

    @Test
    void everySettingArrivesInItsOwnPlace() {
        HvdConfig config = HvdConfig.from(Map.ofEntries(
                Map.entry("HVD_BACKEND", "mpi"),
                Map.entry("HVD_OPENMPI_HOME", "/opt/mpi"),
                Map.entry("HVD_MPI_JAR", "/opt/mpi.jar"),
                Map.entry("HOROVOD_FUSION_THRESHOLD", "1000"),
                Map.entry("HOROVOD_CYCLE_TIME", "2.5"),
                Map.entry("HVD_STAGE_BYTES", "8192"),
                Map.entry("HVD_PIN_GPU", "0"),
                Map.entry("HVD_SHARE_GPU", "1"),
                Map.entry("HVD_THREADS_PER_RANK", "3"),
                Map.entry("HOROVOD_MPI_THREADS_DISABLE", "yes"),
                Map.entry("HOROVOD_START_TIMEOUT", "17"),
                Map.entry("HOROVOD_GLOO_IFACE", "eth7"),
                Map.entry("HVD_FAILURE_DIR", "/tmp/failures"),
                Map.entry("PMIX_RANK", "3")));
        assertThat(config.backend()).isEqualTo(BackendChoice.MPI);
        assertThat(config.openMpiHome()).contains(Path.of("/opt/mpi"));
        assertThat(config.mpiJar()).contains(Path.of("/opt/mpi.jar"));
        assertThat(config.fusionThresholdBytes()).isEqualTo(1000);
        assertThat(config.cycleNanos()).isEqualTo(2_500_000);
        assertThat(config.stageBytes()).isEqualTo(8192);
        assertThat(config.pinGpu()).isFalse();
        assertThat(config.shareGpu()).isTrue();
        assertThat(config.threadsPerRank()).isEqualTo(3);
        assertThat(config.mpiThreadsDisabled()).isTrue();
        assertThat(config.startTimeoutSeconds()).isEqualTo(17);
        assertThat(config.controlInterface()).contains("eth7");
        assertThat(config.failureDirectory()).contains(Path.of("/tmp/failures"));
        assertThat(config.startedByLauncher()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "1, true",
        "true, true",
        "TRUE, true",
        "yes, true",
        "On, true",
        "' 1 ', true",
        "0, false",
        "false, false",
        "False, false",
        "no, false",
        "OFF, false",
    })
    void switchesAreReadAsPeopleWriteThem(String value, boolean on) {
        assertThat(with("HVD_SHARE_GPU", value).shareGpu()).isEqualTo(on);
        assertThat(with("HVD_PIN_GPU", value).pinGpu()).isEqualTo(on);
        assertThat(with("HOROVOD_MPI_THREADS_DISABLE", value).mpiThreadsDisabled())
                .isEqualTo(on);
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "-1", "ja", "truee", "1.0", "y"})
    void anythingElseIsNoSwitch(String value) {
        assertThatThrownBy(() -> with("HVD_SHARE_GPU", value))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-103", "HVD_SHARE_GPU", "\"" + value + "\"", "true", "false");
    }

    @ParameterizedTest
    @CsvSource({
        "HVD_BACKEND, gloo, nccl",
        "HOROVOD_FUSION_THRESHOLD, -1, at least 0",
        "HOROVOD_FUSION_THRESHOLD, 64MB, whole number",
        "HOROVOD_FUSION_THRESHOLD, 1.5, whole number",
        "HVD_STAGE_BYTES, 4095, 4096",
        "HVD_THREADS_PER_RANK, -2, from 0 to",
        "HVD_THREADS_PER_RANK, 3000000000, whole number",
        "HOROVOD_START_TIMEOUT, 0, from 1 to",
        "HOROVOD_START_TIMEOUT, 3000000000, whole number",
        "HOROVOD_START_TIMEOUT, 99999999999999999999, whole number",
        "HOROVOD_CYCLE_TIME, -0.5, milliseconds",
        "HOROVOD_CYCLE_TIME, NaN, milliseconds",
        "HOROVOD_CYCLE_TIME, Infinity, milliseconds",
        "HOROVOD_CYCLE_TIME, 2000000, 1000000",
        "HOROVOD_CYCLE_TIME, fast, milliseconds",
    })
    void aBadValueIsNamedWithItsVariableAndWhatWasExpected(String variable, String value, String expected) {
        assertThatThrownBy(() -> with(variable, value))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_SETTING))
                .hasMessageContainingAll(variable, "\"" + value + "\"", expected);
    }

    @Test
    void theLongestStartTimeoutStillFitsASocketsMilliseconds() {
        HvdConfig config = with("HOROVOD_START_TIMEOUT", "1000000");
        assertThat(config.startTimeoutSeconds() * 1000L).isPositive().isLessThan(Integer.MAX_VALUE);
    }

    @ParameterizedTest
    @EnumSource(BackendChoice.class)
    void backEndsAreNamedInAnyCase(BackendChoice choice) {
        assertThat(with("HVD_BACKEND", choice.name().toLowerCase(java.util.Locale.ROOT))
                        .backend())
                .isEqualTo(choice);
        assertThat(with("HVD_BACKEND", choice.name()).backend()).isEqualTo(choice);
    }

    @Test
    void aVariableThatIsSetToNothingCountsAsNotSet() {
        HvdConfig config = HvdConfig.from(
                Map.of("HVD_BACKEND", "", "HVD_MPI_JAR", " ", "HOROVOD_CYCLE_TIME", "", "HVD_PIN_GPU", ""));
        assertThat(config).isEqualTo(HvdConfig.from(Map.of()));
    }

    @Test
    void aStageIsNeverLargerThanOneBufferCanBe() {
        assertThat(with("HVD_STAGE_BYTES", "99999999999").stageBytes()).isEqualTo(1 << 30);
    }

    @Test
    void aCycleTimeOfZeroMeansNoWaiting() {
        assertThat(with("HOROVOD_CYCLE_TIME", "0").cycleNanos()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    void everyLauncherIsRecognisedByItsVariable(String variable) {
        assertThat(with(variable, "0").startedByLauncher()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void everySettingIsDocumentedAndItsDefaultIsValid(Setting setting) {
        assertThat(setting.variable()).matches("(HVD|HOROVOD)_[A-Z_]+");
        assertThat(setting.meaning()).hasSizeGreaterThan(10).doesNotContain("|", "\n");
        if (!setting.defaultValue().isEmpty()) {
            assertThat(with(setting.variable(), setting.defaultValue())).isEqualTo(HvdConfig.from(Map.of()));
        }
    }

    @Test
    void noTwoSettingsShareAVariable() {
        assertThat(Stream.of(Setting.values()).map(Setting::variable)).doesNotHaveDuplicates();
    }

    @Test
    void everySettingIsReadAndNothingIsReadThatIsNotASetting() {
        Set<String> asked = new HashSet<>();
        HvdConfig.from(new AbstractMap<>() {
            @Override
            public String get(Object variable) {
                asked.add((String) variable);
                return null;
            }

            @Override
            public boolean containsKey(Object variable) {
                return false;
            }

            @Override
            public Set<Entry<String, String>> entrySet() {
                return Set.of();
            }
        });
        assertThat(asked)
                .containsExactlyInAnyOrderElementsOf(
                        Stream.of(Setting.values()).map(Setting::variable).toList());
    }
}
