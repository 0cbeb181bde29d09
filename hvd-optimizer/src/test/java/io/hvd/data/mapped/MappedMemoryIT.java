package io.hvd.data.mapped;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How often a host holds a data set that three processes have mapped. */
class MappedMemoryIT {
    private static final int RANKS = 3;
    private static final int MEBIBYTES = 48;
    private static final long KILOBYTES = MEBIBYTES * 1024L;

    @TempDir
    private Path folder;

    @Test
    void threeRanksHaveReadAllOfItAndTogetherHoldOneCopy() {
        Job job = Job.horovodrun(
                RANKS, MappedMemory.class, folder.resolve("records.hvd").toString(), String.valueOf(MEBIBYTES));
        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> lines = job.lines("MAPPED rank=");
        assertThat(lines).as(job.output()).hasSize(RANKS);
        long sum = MEBIBYTES * (MEBIBYTES - 1L) / 2;
        assertThat(lines).allMatch(line -> number(line, "sum") == sum);
        assertThat(lines.stream().mapToLong(line -> number(line, "builds")).sum())
                .as("one rank builds")
                .isEqualTo(1);
        assertThat(lines).allMatch(line -> number(line, "rss_kb") > KILOBYTES * 9 / 10);
        assertThat(lines).allMatch(line -> number(line, "private_kb") < KILOBYTES / 10);
        // The kernel divides a page by the number of processes that have mapped it.
        assertThat(lines.stream().mapToLong(line -> number(line, "pss_kb")).sum())
                .as(job.output())
                .isBetween(KILOBYTES * 9 / 10, KILOBYTES * 11 / 10);
    }

    private static long number(String line, String name) {
        Matcher matcher = Pattern.compile(" " + name + "=(\\d+)").matcher(line);
        assertThat(matcher.find()).as(line).isTrue();
        return Long.parseLong(matcher.group(1));
    }
}
