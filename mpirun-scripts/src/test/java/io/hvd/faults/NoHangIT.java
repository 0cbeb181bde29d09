package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A job in which a rank is late for a good reason does not end, and no rank is named. Two jobs run at once, as in
 * {@link HangIT}.
 */
@Tag("timing")
class NoHangIT {
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void knownLongWorkIsNoHang() {
        requireNoHangInLongWork("settled");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void knownLongWorkIsNoHangWhileRanksNegotiate() {
        requireNoHangInLongWork("negotiating");
    }

    private static void requireNoHangInLongWork(String steps) {
        Map<String, String> settings = Map.of(
                "HOROVOD_STALL_CHECK_TIME_SECONDS", "3",
                "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "4");

        Job job = Job.horovodrun(2, settings, HangProgram.class, "phase", "1", steps);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.seconds()).isGreaterThan(10);
        assertThat(job.output()).doesNotContain("HANG", "have waited for");
    }

    /** The transfer ends at once, and the ranks that it has tied together wait for the third one afterwards. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void knownLongWorkOfAThirdRankIsNoHangForTwoThatTransfer() {
        requireNoHangBesideTransfer("1");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void norIsItWhereTheyTransferByMpi() {
        requireNoHangBesideTransfer("0");
    }

    private static void requireNoHangBesideTransfer(String sharedMemory) {
        Map<String, String> settings = Map.of(
                "HVD_SHARED_MEMORY", sharedMemory,
                "HOROVOD_STALL_CHECK_TIME_SECONDS", "3",
                "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "4");

        Job job = Job.horovodrun(3, settings, HangProgram.class, "transfer", "2", "settled");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("TRANSFERRED")).hasSize(2);
        assertThat(job.output()).doesNotContain("HANG", "have waited for");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void withoutTheStallCheckALateRankIsNeitherNamedNorTheEndOfTheJob() {
        Map<String, String> settings = Map.of(
                "HOROVOD_STALL_CHECK_TIME_SECONDS", "1",
                "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "2",
                "HOROVOD_STALL_CHECK_DISABLE", "1");

        Job job = Job.horovodrun(2, settings, HangProgram.class, "late", "1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.seconds()).isGreaterThan(4);
        assertThat(job.output()).doesNotContain("HANG", "have waited for");
    }

    /** It has joined, and is neither missing in what the others do nor hanging as long as they do something. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aRankThatHasRunOutOfDataWaitsLongerThanTheLimit() {
        Map<String, String> settings = Map.of(
                "HOROVOD_STALL_CHECK_TIME_SECONDS", "3",
                "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "4");

        Job job = Job.horovodrun(2, settings, HangProgram.class, "uneven", "1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.seconds()).isGreaterThan(10);
        assertThat(job.output()).doesNotContain("HANG", "have waited for");
    }
}
