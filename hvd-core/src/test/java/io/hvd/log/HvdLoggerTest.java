package io.hvd.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What hvd logs, in processes of their own, since the level and SLF4J's provider belong to the process. */
class HvdLoggerTest {
    /** Logs a line of each level before and after a job. */
    public static final class LoggingProgram {
        public static void main(String[] args) {
            log(HvdLogger.of("io.hvd.Before"));
            Hvd.spawn(2, hvd -> null);
            log(HvdLogger.of("io.hvd.After"));
        }

        private static void log(HvdLogger log) {
            log.debug("a {}", "detail", new IllegalStateException("thrown"));
            log.info("{} fact of {}", "a", 2);
            log.notice("a {}", "notice");
            log.warn("a warning");
            log.error("an {}", "error", new IllegalStateException("thrown"));
        }
    }

    private static List<String> otherProvider(String itsLevel, Map<String, String> settings) {
        List<String> command = Job.program(LoggingProgram.class);
        command.addAll(1, List.of("-Dslf4j.provider=" + PlainProvider.class.getName(), "-Dplain.level=" + itsLevel));
        Job job = Job.run(command, settings);
        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> lines = lines(job, " by HvdLogger: ").stream()
                .map(line -> line.replaceFirst("(Before|After) by HvdLogger", "X"))
                .toList();
        assertThat(lines.subList(0, lines.size() / 2)).isEqualTo(lines.subList(lines.size() / 2, lines.size()));
        return lines.subList(0, lines.size() / 2);
    }

    private static List<String> simple(Map<String, String> settings) {
        Job job = Job.run(Job.program(LoggingProgram.class), settings);
        assertThat(job.exitCode()).as(job.output()).isZero();
        return lines(job, " - ").stream()
                .map(line -> line.substring(line.indexOf("] ") + 2))
                .toList();
    }

    private static List<String> lines(Job job, String mark) {
        return job.lines(mark).stream()
                .filter(line -> line.contains("Before") || line.contains("After"))
                .toList();
    }

    @Test
    void withoutASettingAProviderThatShowsAllGetsWarningsErrorsAndNotices() {
        assertThat(otherProvider("TRACE", Map.of()))
                .containsExactly(
                        "INFO io.hvd.X: a notice",
                        "WARN io.hvd.X: a warning",
                        "ERROR io.hvd.X: an error java.lang.IllegalStateException: thrown");
    }

    @Test
    void theLevelFiltersWhatAnotherProviderWouldShow() {
        assertThat(otherProvider("TRACE", Map.of(HvdLogger.VARIABLE, "Warning")))
                .containsExactly(
                        "WARN io.hvd.X: a warning", "ERROR io.hvd.X: an error java.lang.IllegalStateException: thrown");
    }

    @Test
    void detailsComeOutThroughAProviderThatHidesItsDebug() {
        assertThat(otherProvider("INFO", Map.of(HvdLogger.VARIABLE, "DEBUG")))
                .containsExactly(
                        "INFO io.hvd.X: a detail java.lang.IllegalStateException: thrown",
                        "INFO io.hvd.X: a fact of 2",
                        "INFO io.hvd.X: a notice",
                        "WARN io.hvd.X: a warning",
                        "ERROR io.hvd.X: an error java.lang.IllegalStateException: thrown");
        assertThat(otherProvider("DEBUG", Map.of(HvdLogger.VARIABLE, "trace")))
                .hasSize(5)
                .startsWith("DEBUG io.hvd.X: a detail java.lang.IllegalStateException: thrown");
    }

    /** A provider that shows warnings only hides the rest of the log too. */
    @Test
    void whatTheProviderHidesFromInfoOnStaysHidden() {
        assertThat(otherProvider("WARN", Map.of(HvdLogger.VARIABLE, "debug")))
                .hasSize(2)
                .startsWith("WARN io.hvd.X: a warning");
    }

    @Test
    void slf4jSimpleObeysAndKnowsTheLevelOfLoggersMadeAfterTheStart() {
        assertThat(simple(Map.of()))
                .containsExactly(
                        "INFO io.hvd.Before - a notice",
                        "WARN io.hvd.Before - a warning",
                        "ERROR io.hvd.Before - an error",
                        "INFO io.hvd.After - a notice",
                        "WARN io.hvd.After - a warning",
                        "ERROR io.hvd.After - an error");
        assertThat(simple(Map.of(HvdLogger.VARIABLE, "debug")))
                .hasSize(10)
                .contains(
                        "INFO io.hvd.Before - a detail",
                        "DEBUG io.hvd.After - a detail",
                        "INFO io.hvd.After - a fact of 2");
        assertThat(simple(Map.of(HvdLogger.VARIABLE, "fatal")))
                .containsExactly("ERROR io.hvd.Before - an error", "ERROR io.hvd.After - an error");
    }
}
