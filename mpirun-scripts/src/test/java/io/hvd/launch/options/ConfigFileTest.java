package io.hvd.launch.options;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ConfigFileTest {

    @TempDir
    private Path folder;

    @Test
    void everySectionSetsItsVariables() throws IOException {
        LaunchSettings settings = with("""
                # a job
                params:
                  fusion_threshold_mb: 32
                  cycle_time_ms: 3.5
                  cache_capacity: 0
                  hierarchical_allreduce: true
                  hierarchical_allgather: false
                  torus_allreduce: true
                autotune:
                  enabled: true
                  log_file: tuned.csv
                  warmup_samples: 1
                  steps_per_sample: 2
                  bayes_opt_max_samples: 3
                  gaussian_process_noise: 0.5
                timeline:
                  filename: /tmp/timeline.json
                  mark_cycles: true
                stall_check:
                  enabled: false
                  warning_time_seconds: 10
                  shutdown_time_seconds: 20
                library_options:
                  mpi_threads_disable: true
                  mpi_args: "--mca btl self"
                  num_nccl_streams: 2
                  thread_affinity: "0,1"
                  gloo_timeout_seconds: 9
                logging:
                  level: DEBUG
                  hide_timestamp: true
                """);

        assertThat(variables(settings))
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("HOROVOD_FUSION_THRESHOLD", "33554432"),
                        Map.entry("HOROVOD_CYCLE_TIME", "3.5"),
                        Map.entry("HOROVOD_CACHE_CAPACITY", "0"),
                        Map.entry("HOROVOD_HIERARCHICAL_ALLREDUCE", "1"),
                        Map.entry("HOROVOD_TORUS_ALLREDUCE", "1"),
                        Map.entry("HOROVOD_AUTOTUNE", "1"),
                        Map.entry("HOROVOD_AUTOTUNE_LOG", "tuned.csv"),
                        Map.entry("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "1"),
                        Map.entry("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "2"),
                        Map.entry("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "3"),
                        Map.entry("HOROVOD_TIMELINE", "/tmp/timeline.json"),
                        Map.entry("HOROVOD_TIMELINE_MARK_CYCLES", "1"),
                        Map.entry("HOROVOD_STALL_CHECK_DISABLE", "1"),
                        Map.entry("HOROVOD_STALL_CHECK_TIME_SECONDS", "10"),
                        Map.entry("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "20"),
                        Map.entry("HOROVOD_MPI_THREADS_DISABLE", "1"),
                        Map.entry("HOROVOD_GLOO_TIMEOUT_SECONDS", "9"),
                        Map.entry("HOROVOD_LOG_LEVEL", "DEBUG"),
                        Map.entry("HOROVOD_LOG_HIDE_TIME", "1")));
        assertThat(settings.words().more()).containsExactly("--mca", "btl", "self");
        assertThat(settings.notes()).hasSize(3);
        assertThat(settings.assignments().get(0).origin()).endsWith("job.yaml: params.fusion_threshold_mb");
    }

    @Test
    void aFlagWinsOverTheFileWhereverItStands() throws IOException {
        String yaml = "params: {cycle_time_ms: 3}\nautotune: {enabled: true}\nlogging: {hide_timestamp: true}\n";

        assertThat(variables(with(yaml, "--cycle-time-ms", "4", "--no-autotune", "--log-with-timestamp")))
                .isEqualTo(Map.of("HOROVOD_CYCLE_TIME", "4", "HOROVOD_AUTOTUNE", "0", "HOROVOD_LOG_HIDE_TIME", "0"));
    }

    @ParameterizedTest
    @CsvSource({
        "'param: {cycle_time_ms: 1}',section \"param\",did you mean params?",
        "'params: {cycle_time: 1}',\"params.cycle_time\",did you mean params.cycle_time_ms?",
        "'timeline: {colour: red}',\"timeline.colour\",timeline.filename"
    })
    void anUnknownKeyIsNamedWithASuggestion(String yaml, String named, String suggestion) {
        refused(yaml).hasMessageContainingAll("config-unknown", "job.yaml", named, suggestion);
    }

    @ParameterizedTest
    @CsvSource({
        "'params: {cycle_time_ms: -1}',params.cycle_time_ms -1",
        "'params: {fusion_threshold_mb: lots}',params.fusion_threshold_mb lots",
        "'autotune: {enabled: 1}',autotune.enabled is \"1\"",
        "'params: {cycle_time_ms: [1]}',params.cycle_time_ms",
        "'params: 3',section \"params\"",
        "'[1, 2]',the file",
        "'params: {',not YAML"
    })
    void aBadValueIsNamedWithItsPlace(String yaml, String place) {
        refused(yaml).hasMessageContainingAll("job.yaml", place);
    }

    @Test
    void anEmptyFileAndEmptySectionsSayNothing() throws IOException {
        assertThat(with("").assignments()).isEmpty();
        assertThat(with("params:\ntimeline: {filename: }\n").assignments()).isEmpty();
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatThrownBy(() -> parse(List.of("-np", "1", "--config-file", "/nowhere.yaml", "true")))
                .hasMessageContainingAll("config-unreadable", "/nowhere.yaml");
    }

    /** Each of these kept the launcher busy for minutes, or ended it with a stack overflow, before it said anything. */
    @ParameterizedTest
    @MethodSource
    void aFileThatIsMadeToKeepTheReaderBusyIsRefusedInOneSentence(String what, String yaml) {
        refused(yaml)
                .satisfies(refusal -> assertThat(refusal.getMessage())
                        .contains("job.yaml", what)
                        .doesNotContain("\n")
                        .hasSizeLessThan(500));
    }

    static Stream<Arguments> aFileThatIsMadeToKeepTheReaderBusyIsRefusedInOneSentence() {
        var bomb = new StringBuilder("params0: &a0 [x, x]\n");
        for (int level = 1; level < 25; level++) {
            bomb.append(
                    String.format(Locale.ROOT, "params%d: &a%d [*a%d, *a%d]\n", level, level, level - 1, level - 1));
        }
        return Stream.of(
                Arguments.of("alias", bomb + "timeline: *a24\n"),
                Arguments.of("alias", "timeline: &a {filename: *a}\n"),
                Arguments.of("deep", "params: " + "[".repeat(20_000) + "]".repeat(20_000)),
                Arguments.of("deep", "params: " + "{a: ".repeat(10_000) + "}".repeat(10_000)),
                Arguments.of(
                        "deep",
                        IntStream.range(0, 300)
                                .mapToObj(level -> " ".repeat(level) + "a:\n")
                                .collect(joining())),
                Arguments.of("characters", "params: {cycle_time_ms: " + "9".repeat(60_000) + "}\n"),
                Arguments.of("characters", "params: {cycle_time_ms: 0." + "9".repeat(60_000) + "}\n"),
                Arguments.of("characters", "params: {? " + "9".repeat(60_000) + " : 1}\n"),
                Arguments.of("65536 bytes", "params: {cycle_time_ms: " + "9".repeat(10_000_000) + "}\n"),
                Arguments.of("65536 bytes", "# " + "x".repeat(65_536)));
    }

    @Test
    void aFileWithoutEndIsRefused() {
        assertThatThrownBy(() -> parse(List.of("-np", "1", "--config-file", "/dev/zero", "true")))
                .hasMessageContainingAll("/dev/zero", "65536 bytes");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\ufeffparams:\r\n  cycle_time_ms:\u00a07\u200b\r\n",
                "params:\n\u00a0\u00a0cycle_time_ms: 7\u00a0\n",
            })
    void whatCannotBeSeenIsNoPartOfAKeyOrAValue(String yaml) throws IOException {
        assertThat(variables(with(yaml))).containsEntry("HOROVOD_CYCLE_TIME", "7");
    }

    @Test
    void whatIsNoTextIsRefused() throws IOException {
        Path file = Files.write(folder.resolve("job.yaml"), new byte[] {'a', ':', ' ', (byte) 0xff, (byte) 0xfe});

        assertThatThrownBy(() -> parse(List.of("-np", "1", "--config-file", file.toString(), "true")))
                .hasMessageContainingAll("config-unreadable", "not a text in UTF-8", "0xff", "line 1");
    }

    private org.assertj.core.api.AbstractThrowableAssert<?, ?> refused(String yaml) {
        return assertThatThrownBy(() -> with(yaml)).isInstanceOf(UsageException.class);
    }

    private static Map<String, String> variables(LaunchSettings settings) {
        return settings.assignments().stream().collect(Collectors.toMap(Assignment::variable, Assignment::value));
    }

    private LaunchSettings with(String yaml, String... flags) throws IOException {
        Path file = Files.writeString(folder.resolve("job.yaml"), yaml);
        var args = new java.util.ArrayList<>(List.of("-np", "1"));
        args.addAll(List.of(flags));
        args.addAll(List.of("--config-file", file.toString(), "true"));
        return parse(args);
    }

    private static LaunchSettings parse(List<String> args) {
        return LaunchOptions.parse(Map.of(), args.toArray(String[]::new));
    }
}
