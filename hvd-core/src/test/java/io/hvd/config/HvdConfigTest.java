package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
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
    void torusWinsOverHierarchicalAndBothAreNoted() {
        Map<String, String> both = Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "1", "HOROVOD_TORUS_ALLREDUCE", "true");
        assertThat(HvdConfig.from(both).gpu().across()).isEqualTo(GpuSettings.AcrossNodes.BY_NCCL);
        HvdConfig one = with("HOROVOD_HIERARCHICAL_ALLREDUCE", "1");
        assertThat(one.gpu().across()).isEqualTo(GpuSettings.AcrossNodes.THROUGH_HOST);
        assertThat(one.notes())
                .singleElement()
                .asString()
                .contains("HOROVOD_HIERARCHICAL_ALLREDUCE=1", "between GPUs", "several nodes");
    }

    @Test
    void theProgramMaySayHowManyGpusARankHas() {
        HvdConfig two = with("HVD_GPUS_PER_RANK", "2");
        assertThat(two.gpu().perRank()).isEqualTo(2);
        assertThat(two.withGpusPerRank(0)).isEqualTo(two);
        assertThat(two.withGpusPerRank(4).gpu().perRank()).isEqualTo(4);
    }

    @Test
    void theProgramMaySayHowLongACollectiveWaits() {
        HvdConfig longer = with("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "300");
        assertThat(longer.withStallTimeout(Duration.ZERO)).isEqualTo(longer);
        HvdConfig shorter = longer.withStallTimeout(Duration.ofMillis(8_100));
        assertThat(shorter.monitor().stall().shutdown()).isEqualTo(Duration.ofSeconds(9));
        assertThat(shorter.monitor().stall().warning()).isEqualTo(Duration.ofSeconds(4));
        HvdConfig early = with("HOROVOD_STALL_CHECK_TIME_SECONDS", "3").withStallTimeout(Duration.ofMinutes(20));
        assertThat(early.monitor().stall().warning()).isEqualTo(Duration.ofSeconds(3));
        assertThat(early.monitor().stall().shutdown()).isEqualTo(Duration.ofMinutes(20));
    }

    @Test
    void anEmptyEnvironmentGivesTheDocumentedDefaults() {
        HvdConfig config = HvdConfig.from(Map.of());
        assertThat(config.backend()).isEqualTo(BackendChoice.AUTO);
        assertThat(config.mpi().home()).isEmpty();
        assertThat(config.mpi().jar()).isEmpty();
        assertThat(config.engine().fusionThresholdBytes()).isEqualTo(128L << 20);
        assertThat(config.engine().cycleNanos()).isEqualTo(1_000_000);
        assertThat(config.memory().stageBytes()).isEqualTo(4 << 20);
        assertThat(config.gpu().pin()).isTrue();
        assertThat(config.gpu().perRank()).isEqualTo(1);
        assertThat(config.gpu().across()).isEqualTo(GpuSettings.AcrossNodes.FLAT);
        assertThat(config.gpu().share()).isFalse();
        assertThat(config.optimizer().threadsPerRank()).isZero();
        assertThat(config.mpi().singleThreaded()).isFalse();
        assertThat(config.control().startTimeoutSeconds()).isEqualTo(30);
        assertThat(config.control().networkInterface()).isEmpty();
        assertThat(config.launcher().failureDirectory()).isEmpty();
        assertThat(config.started().byLauncher()).isFalse();
        assertThat(config.launcher().terminal()).isFalse();
        assertThat(config.notes()).isEmpty();
    }

    @Test
    void theDocumentedDefaultsOfTheGroupsToo() {
        HvdConfig config = HvdConfig.from(Map.of());
        assertThat(config.engine())
                .isEqualTo(new EngineSettings(128L << 20, true, 1_000_000, 1024, 10, false, false, 0, 2));
        assertThat(config.monitor().stall()).isEqualTo(new StallSettings(true, 60, 600, 30));
        assertThat(config.monitor().stall().warning()).hasSeconds(60);
        assertThat(config.monitor().stall().shutdown()).hasSeconds(600);
        assertThat(config.memory()).isEqualTo(new MemorySettings(4 << 20, true, 0, false));
        assertThat(config.monitor())
                .isEqualTo(new MonitorOptions(new StallSettings(true, 60, 600, 30), 128, Path.of("."), true, true));
        assertThat(config.optimizer()).isEqualTo(new TrainingSettings(0, 500, false));
        assertThat(config.process().uncaughtHandler()).isTrue();
        assertThat(config.process().showRanks()).isFalse();
        assertThat(config.process().log()).isEqualTo(new LogSettings(java.util.Optional.empty(), false, false));
        assertThat(config.timeline()).isEqualTo(new TimelineSettings(Optional.empty(), false, false));
        assertThat(config.autotune()).isEqualTo(AutotuneSettings.off());
    }

    @Test
    void everySettingOfAGroupArrivesInItsOwnPlace() {
        HvdConfig config = HvdConfig.from(Map.ofEntries(
                Map.entry("HOROVOD_DISABLE_GROUP_FUSION", "1"),
                Map.entry("HOROVOD_CACHE_CAPACITY", "0"),
                Map.entry("HVD_STATIC_PLAN_STEPS", "7"),
                Map.entry("HOROVOD_DYNAMIC_PROCESS_SETS", "1"),
                Map.entry("HOROVOD_STALL_CHECK_DISABLE", "1"),
                Map.entry("HOROVOD_STALL_CHECK_TIME_SECONDS", "5"),
                Map.entry("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "9"),
                Map.entry("HVD_STRICT", "1"),
                Map.entry("HVD_MAX_BUFFER_BYTES", "5"),
                Map.entry("HVD_BUFFER_SITES", "1"),
                Map.entry("HVD_FLIGHT_RECORDER", "3"),
                Map.entry("HVD_DIVERGENCE_STEPS", "4"),
                Map.entry("HVD_REFUSE_NON_FINITE", "1"),
                Map.entry("HVD_UNCAUGHT_HANDLER", "0"),
                Map.entry("HVD_SHOW_RANKS", "1"),
                Map.entry("HVD_REPORT_DIR", "/reports"),
                Map.entry("HVD_NCCL_RAS", "0"),
                Map.entry("HVD_STATUS_PAGE", "0"),
                Map.entry("HOROVOD_LOG_LEVEL", "Debug"),
                Map.entry("HOROVOD_LOG_HIDE_TIME", "1"),
                Map.entry("HOROVOD_TIMELINE_MARK_CYCLES", "1"),
                Map.entry("HOROVOD_AUTOTUNE", "true"),
                Map.entry("HOROVOD_AUTOTUNE_LOG", "/tune.csv"),
                Map.entry("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "11"),
                Map.entry("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "12"),
                Map.entry("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "13"),
                Map.entry("HVD_AUTOTUNE_SAMPLE_MILLIS", "14"),
                Map.entry("HOROVOD_TORUS_ALLREDUCE", "1"),
                Map.entry("HVD_TERMINAL", "1")));
        assertThat(config.engine()).isEqualTo(new EngineSettings(128L << 20, false, 1_000_000, 0, 7, true, true, 0, 2));
        assertThat(config.monitor().stall()).isEqualTo(new StallSettings(false, 5, 9, 30));
        assertThat(config.monitor().stall().warning()).isZero();
        assertThat(config.monitor().stall().shutdown()).isZero();
        assertThat(config.memory()).isEqualTo(new MemorySettings(4 << 20, true, 5, true));
        assertThat(config.monitor())
                .isEqualTo(
                        new MonitorOptions(new StallSettings(false, 5, 9, 30), 3, Path.of("/reports"), false, false));
        assertThat(config.optimizer()).isEqualTo(new TrainingSettings(0, 4, true));
        assertThat(config.process().uncaughtHandler()).isFalse();
        assertThat(config.process().showRanks()).isTrue();
        assertThat(config.process().log())
                .isEqualTo(new LogSettings(java.util.Optional.of(io.hvd.log.HvdLogger.Threshold.DEBUG), true, false));
        assertThat(config.timeline()).isEqualTo(new TimelineSettings(Optional.empty(), false, true));
        assertThat(config.autotune())
                .isEqualTo(new AutotuneSettings(
                        true, Optional.of(Path.of("/tune.csv")), 11, 12, 14, 13, Set.of(), false, true));
        assertThat(config.launcher().terminal()).isTrue();
    }

    @Test
    void theTimelineIsAFileOrLeftToTheProgram() {
        assertThat(with("HOROVOD_TIMELINE", "/tmp/t.json").timeline())
                .isEqualTo(new TimelineSettings(Optional.of(Path.of("/tmp/t.json")), false, false));
        assertThat(with("HOROVOD_TIMELINE", "DYNAMIC").timeline())
                .isEqualTo(new TimelineSettings(Optional.empty(), true, false));
    }

    @ParameterizedTest
    @CsvSource({
        "60, 600, 600, false",
        "60, 60, 60, false",
        "60, 59, 600, true",
        "60, 0, 0, false",
        "900, 0, 0, false",
        "900, '', 900, false",
        "900, 700, 900, true",
    })
    void aShutdownBeforeTheWarningIsIgnoredAndSaidSo(String warning, String shutdown, int effective, boolean noted) {
        HvdConfig config = HvdConfig.from(
                Map.of("HOROVOD_STALL_CHECK_TIME_SECONDS", warning, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", shutdown));
        assertThat(config.monitor().stall().shutdownSeconds()).isEqualTo(effective);
        if (noted) {
            assertThat(config.notes())
                    .singleElement()
                    .asString()
                    .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", shutdown, warning, "" + effective, "ignored");
        } else {
            assertThat(config.notes()).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "134217728, 3, 134218752",
        "134217728, 4, 134217728",
        "134217728, 8, 134217728",
        "0, 3, 0",
        "1, 1, 512",
        "9223372036854775807, 2, 9223372036854775807",
    })
    void theFusionThresholdIsRoundedUpSoThatTheRanksOfAHostShareItEqually(long set, int localSize, long rounded) {
        assertThat(EngineSettings.roundedUp(set, localSize)).isEqualTo(rounded);
        assertThat(with("HOROVOD_FUSION_THRESHOLD", "" + set)
                        .engine()
                        .forRanksPerHost(localSize)
                        .fusionThresholdBytes())
                .isEqualTo(rounded);
    }

    @Test
    void autotuneIsSwitchedOnByTrueAndLeavesWhatWasSet() {
        AutotuneSettings tuned = with("HOROVOD_AUTOTUNE", "true").autotune();
        assertThat(tuned.enabled()).isTrue();
        assertThat(tuned.fixed()).isEmpty();
        assertThat(with("HOROVOD_CYCLE_TIME", "1.0").autotune().fixed()).containsExactly(Setting.CYCLE_TIME);
        assertThat(with("HOROVOD_FUSION_THRESHOLD", " ").autotune().fixed()).isEmpty();
    }

    /** By itself, an allreduce adds inside each host first. */
    @Test
    void noHierarchicalAllreduceIsSomethingElseThanNothingSaid() {
        assertThat(HvdConfig.from(Map.of()).engine().levels()).isEqualTo(2);
        assertThat(with("HOROVOD_HIERARCHICAL_ALLREDUCE", "1").engine().levels())
                .isEqualTo(2);
        HvdConfig off = with("HOROVOD_HIERARCHICAL_ALLREDUCE", "off");
        assertThat(off.engine().levels()).isEqualTo(1);
        assertThat(off.gpu().across()).isEqualTo(GpuSettings.AcrossNodes.FLAT);
        assertThat(off.notes()).isEmpty();
        assertThat(with("HVD_BUCKET_BYTES", "4096").engine().bucketBytes()).isEqualTo(4096);
    }

    /** Horovod's limit for the ranks to find each other. */
    @Test
    void theTimeoutOfGlooCountsWhereNoStartTimeoutIsSet() {
        assertThat(with("HOROVOD_GLOO_TIMEOUT_SECONDS", "99").control().startTimeoutSeconds())
                .isEqualTo(99);
        assertThat(HvdConfig.from(Map.of("HOROVOD_GLOO_TIMEOUT_SECONDS", "99", "HOROVOD_START_TIMEOUT", "17"))
                        .control()
                        .startTimeoutSeconds())
                .isEqualTo(17);
        assertThatThrownBy(() -> with("HOROVOD_GLOO_TIMEOUT_SECONDS", "0"))
                .hasMessageContainingAll("HOROVOD_GLOO_TIMEOUT_SECONDS", "\"0\"", "from 1 to");
    }

    @Test
    void everySettingArrivesInItsOwnPlace() {
        HvdConfig config = HvdConfig.from(Map.ofEntries(
                Map.entry("HVD_BACKEND", "mpi"),
                Map.entry("HVD_OPENMPI_HOME", "/opt/mpi"),
                Map.entry("HVD_MPI_JAR", "/opt/mpi.jar"),
                Map.entry("HVD_MPI_LIBRARY", "libmpi.so.12"),
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
        assertThat(config.mpi().home()).contains(Path.of("/opt/mpi"));
        assertThat(config.mpi().jar()).contains(Path.of("/opt/mpi.jar"));
        assertThat(config.mpi().mpiFile()).contains("libmpi.so.12");
        assertThat(config.engine().fusionThresholdBytes()).isEqualTo(1000);
        assertThat(config.engine().cycleNanos()).isEqualTo(2_500_000);
        assertThat(config.memory().stageBytes()).isEqualTo(8192);
        assertThat(config.gpu().pin()).isFalse();
        assertThat(config.gpu().share()).isTrue();
        assertThat(config.optimizer().threadsPerRank()).isEqualTo(3);
        assertThat(config.mpi().singleThreaded()).isTrue();
        assertThat(config.control().startTimeoutSeconds()).isEqualTo(17);
        assertThat(config.control().networkInterface()).contains("eth7");
        assertThat(config.launcher().failureDirectory()).contains(Path.of("/tmp/failures"));
        assertThat(config.started().byLauncher()).isTrue();
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
        assertThat(with("HVD_SHARE_GPU", value).gpu().share()).isEqualTo(on);
        assertThat(with("HVD_PIN_GPU", value).gpu().pin()).isEqualTo(on);
        assertThat(with("HOROVOD_MPI_THREADS_DISABLE", value).mpi().singleThreaded())
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
        "HOROVOD_CACHE_CAPACITY, -1, from 0 to",
        "HOROVOD_STALL_CHECK_TIME_SECONDS, 0, from 1 to",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS, -1, from 0 to",
        "HOROVOD_LOG_LEVEL, loud, 'trace, debug, info, warning, error, fatal'",
        "HOROVOD_AUTOTUNE_WARMUP_SAMPLES, -1, from 0 to",
        "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE, 0, from 1 to",
        "HVD_AUTOTUNE_SAMPLE_MILLIS, -1, from 0 to",
        "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES, -1, from 0 to",
        "HVD_STATIC_PLAN_STEPS, -1, from 0 to",
        "HVD_FLIGHT_RECORDER, -1, from 0 to",
        "HVD_DIVERGENCE_STEPS, -1, from 0 to",
        "HVD_STRICT, maybe, yes",
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
        assertThat(config.control().startTimeoutSeconds() * 1000L).isPositive().isLessThan(Integer.MAX_VALUE);
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
        assertThat(with("HVD_STAGE_BYTES", "99999999999").memory().stageBytes()).isEqualTo(1 << 30);
    }

    @Test
    void aCycleTimeOfZeroMeansNoWaiting() {
        assertThat(with("HOROVOD_CYCLE_TIME", "0").engine().cycleNanos()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    void everyLauncherIsRecognisedByItsVariable(String variable) {
        assertThat(with(variable, "0").started().byLauncher()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void everySettingIsDocumentedAndItsDefaultIsValid(Setting setting) {
        assertThat(setting.variable()).matches("(HVD|HOROVOD)_[A-Z_]+");
        assertThat(setting.meaning()).hasSizeGreaterThan(10).doesNotContain("|", "\n");
        if (!setting.defaultValue().isEmpty()) {
            // Autotuning changes what has its default value, unless it was set to it.
            assertThat(with(setting.variable(), setting.defaultValue()))
                    .usingRecursiveComparison()
                    .ignoringFields("autotune.fixed")
                    .isEqualTo(HvdConfig.from(Map.of()));
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

    /** Java takes the digits of every script; the Arabic ones here are a 0, a 1, and a 1 with an ASCII 0 behind it. */
    @ParameterizedTest
    @EnumSource(Setting.class)
    void onlyAsciiDigitsAreNumbers(Setting setting) {
        if (refuses(setting, "lots")) {
            for (String foreign : new String[] {"\u0660", "\u0661", "\u06610", "\u06f1.5", "0x1p3", "1d", "1f"}) {
                assertThat(refuses(setting, foreign))
                        .as(setting.variable() + "=" + foreign)
                        .isTrue();
            }
        }
    }

    @Test
    void aLaunchersNumberInForeignDigitsCannotBeRead() {
        assertThat(with("OMPI_COMM_WORLD_RANK", "\u0660").started().rank()).hasValue(-1);
        assertThat(with("OMPI_COMM_WORLD_SIZE", "\u0662").started().size()).isEmpty();
    }

    private static boolean refuses(Setting setting, String value) {
        try {
            with(setting.variable(), value);
            return false;
        } catch (HvdException e) {
            return true;
        }
    }
}
