package io.hvd.job.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.error.FailureRecord;
import io.hvd.error.ShutdownException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of an exception in a process that is in no job; FaultsIT has those that end one. */
class UncaughtExceptionsTest {
    @TempDir
    private Path folder;

    private final List<Throwable> passedOn = new ArrayList<>();

    private UncaughtExceptions exceptions() {
        FailureReport report = new FailureReport(HvdConfig.ofLauncherOnly(
                Map.of(FailureRecord.DIRECTORY_VARIABLE, folder.toString(), "OMPI_COMM_WORLD_RANK", "2")));
        return new UncaughtExceptions(report, new JobAbort(report));
    }

    @Test
    void theProgramsOwnHandlerHearsOfItAfterItHasBeenRecorded() throws Exception {
        UncaughtExceptions exceptions = exceptions();
        Exception cause = new IllegalStateException("the disk is full");
        assertThat(exceptions.hasThrown()).isFalse();

        exceptions.handle(
                (thread, thrown) -> {
                    assertThat(FailureRecord.ranksIn(folder)).containsExactly(2);
                    passedOn.add(thrown);
                },
                null,
                new Thread("loader"),
                cause);

        assertThat(passedOn).containsExactly(cause);
        assertThat(exceptions.hasThrown()).isTrue();
        assertThat(FailureRecord.readAll(folder)).singleElement().satisfies(record -> {
            assertThat(record.thread()).isEqualTo("loader");
            assertThat(record.reason()).contains("thread loader threw", "the disk is full");
        });
    }

    @Test
    void whatInitThrowsIsRecordedBeforeTheProgramCatchesIt() throws Exception {
        UncaughtExceptions exceptions = exceptions();
        exceptions.notJoined(new IllegalStateException("no MPI"));

        assertThat(exceptions.hasThrown()).isFalse();
        assertThat(FailureRecord.readAll(folder)).singleElement().satisfies(record -> {
            assertThat(record.reason()).contains("init failed: ", "no MPI");
            assertThat(record.consequence()).isFalse();
        });
    }

    @Test
    void aStartThatFailsBecauseAnotherRankIsGoneIsAConsequence() throws Exception {
        exceptions().notJoined(new ShutdownException("rank 1 is gone"));

        assertThat(FailureRecord.readAll(folder))
                .singleElement()
                .satisfies(record -> assertThat(record.consequence()).isTrue());
    }
}
