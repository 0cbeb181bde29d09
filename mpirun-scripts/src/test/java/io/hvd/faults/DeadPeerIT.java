package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks that wait in shared memory for one that is killed: their operations fail at once, and say for whom they waited. */
@Tag("timing")
class DeadPeerIT {
    private static final String WAITED_FOR =
            "\\[HVD-303] allreduce of \\[gradient] can never be complete: rank %d is gone: the kernel has taken back its lock"
                    + " on the memory that ranks \\[.*] share, so its process has ended \\(host \\S+\\)";

    @TempDir
    private Path records;

    @ParameterizedTest
    @CsvSource({"2, 0, 100", "4, 0, 1000000"})
    void whoeverWaitsForAKilledRankFailsAtOnceAndNamesIt(int ranks, int culprit, int elements) throws IOException {
        requireNamedByThoseThatWait(ranks, culprit, elements);
    }

    @ParameterizedTest
    @CsvSource({"2, 1, 1000000", "4, 2, 100"})
    @Tag("long")
    void whoeverWaitsForAnyKilledRankFailsAtOnceAndNamesIt(int ranks, int culprit, int elements) throws IOException {
        requireNamedByThoseThatWait(ranks, culprit, elements);
    }

    private void requireNamedByThoseThatWait(int ranks, int culprit, int elements) throws IOException {
        Job job = mpirun(ranks, culprit, "awaited", elements);

        assertThat(notices(job))
                .hasSize(ranks - 1)
                .allSatisfy(
                        notice -> assertThat(words(notice)).matches(String.format(Locale.ROOT, WAITED_FOR, culprit)));
        assertNoticed(job, ranks, culprit);
    }

    /** In the middle of a step, where the survivors may hear of it by the control plane as well. */
    @Test
    void aRankThatIsKilledInTheMiddleOfItsStepsIsNamedByAllOthers() throws IOException {
        requireNamedAmidSteps(4, 1, 1_000_000);
    }

    @ParameterizedTest
    @CsvSource({"2, 1, 100", "4, 3, 100"})
    @Tag("long")
    void anyRankThatIsKilledInTheMiddleOfItsStepsIsNamedByAllOthers(int ranks, int culprit, int elements)
            throws IOException {
        requireNamedAmidSteps(ranks, culprit, elements);
    }

    private void requireNamedAmidSteps(int ranks, int culprit, int elements) throws IOException {
        Job job = mpirun(ranks, culprit, "amid", elements);

        assertThat(notices(job))
                .hasSize(ranks - 1)
                .allSatisfy(notice -> assertThat(words(notice)).contains("rank " + culprit + " is gone"));
        assertNoticed(job, ranks, culprit);
    }

    @Test
    void horovodrunShowsTheKilledRankAsTheOnlyCause() {
        Job job = Job.horovodrun(4, DeadPeerProgram.class, "1", "awaited", "100");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(137);
        String report = job.output().substring(job.output().lastIndexOf("horovodrun: first failure"));
        assertThat(report.lines().filter(line -> line.startsWith("  in consequence: ")))
                .as(report)
                .hasSize(job.output().contains("noticed that process rank") ? 3 : 2)
                .allMatch(line -> line.contains("rank 1 is gone") || line.contains("ranks [1] on this host are gone"));
        assertThat(report).doesNotContain("also failed", "FAILED");
        assertThat(report.lines().reduce("", (before, line) -> line))
                .startsWith("horovodrun: exit code 137 (a rank was killed by signal 9: by someone");
    }

    private Job mpirun(int ranks, int culprit, String how, int elements) throws IOException {
        Set<String> before = Segments.now();
        Map<String, String> environment = new HashMap<>(NoLimits.SETTINGS);
        environment.put(FailureRecord.DIRECTORY_VARIABLE, records.toString());
        Job job = Job.run(Mpirun.command(ranks, DeadPeerProgram.class, "" + culprit, how, "" + elements), environment);
        assertThat(job.exitCode()).as(job.output()).isEqualTo(137);
        assertThat(Segments.leftSince(before)).isEmpty();
        return job;
    }

    private static List<String> notices(Job job) {
        return job.lines("NOTICED AT ");
    }

    private static String words(String notice) {
        return notice.replaceFirst("NOTICED AT \\d+ ", "");
    }

    /** The printed times show what it takes, tens of milliseconds; a busy machine may keep a rank from looking. */
    private void assertNoticed(Job job, int ranks, int culprit) throws IOException {
        long killed = Long.parseLong(job.lines("KILLED AT ").get(0).replaceFirst("KILLED AT ", ""));
        List<Long> after = notices(job).stream()
                .map(notice -> Long.parseLong(notice.split(" ")[2]) - killed)
                .toList();
        System.out.printf(
                Locale.ROOT,
                "%d ranks, rank %d killed: noticed after %s ms, job over after %d ms%n",
                ranks,
                culprit,
                after,
                job.endedMillis() - killed);

        List<FailureRecord> left = FailureRecord.readAll(records);
        assertThat(left)
                .allMatch(FailureRecord::consequence)
                .extracting(FailureRecord::rank)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, ranks)
                        .filter(rank -> rank != culprit)
                        .boxed()
                        .toList());
    }
}
