package io.hvd.job.failure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.hvd.config.HvdConfig;
import io.hvd.error.FailureRecord;
import io.hvd.net.HostAddress;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The order in which a rank leaves when another one has failed; the limits are short, or so long that the test fails at them. */
@Timeout(60)
class FailureExitTest {
    private static final long NEVER = 1_000_000;

    @TempDir
    private Path folder;

    private final List<String> order = new ArrayList<>();
    /** For the launcher's end; true from the first rank of the host that lives. */
    private final List<Boolean> limits = new ArrayList<>();

    /** Rank 1 of a host where ranks 1 to 3 live; rank 0 has been killed. */
    private final class Job implements FailureExit.JobView {
        private final int rank;
        private final List<Integer> others;
        private final boolean threadsSpeak;

        Job(int rank, List<Integer> others, boolean threadsSpeak) {
            this.rank = rank;
            this.others = others;
            this.threadsSpeak = threadsSpeak;
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public List<Integer> living() {
            return others;
        }

        @Override
        public boolean threadsSpeak() {
            return threadsSpeak;
        }

        @Override
        public void limitLauncher(boolean first) {
            limits.add(first);
        }

        @Override
        public Optional<Runnable> waker() {
            return Optional.of(() -> order.add("woken with the records of ranks " + FailureRecord.ranksIn(folder)));
        }
    }

    private FailureReport notice(int rank) {
        return new FailureReport(HvdConfig.ofLauncherOnly(Map.of(
                FailureRecord.DIRECTORY_VARIABLE, folder.toString(), "OMPI_COMM_WORLD_RANK", String.valueOf(rank))));
    }

    private FailureExit exit(FailureReport notice, long speak, long records, long leave) {
        return new FailureExit(notice, new FailureExit.Limits(speak, records, leave));
    }

    private void record(int rank) throws IOException {
        new FailureRecord(Instant.now(), rank, "here", 1, "main", "told", "", true, FailureRecord.UNKNOWN)
                .write(folder);
    }

    /** mpirun kills at once then, and would have given the others a second or two. */
    @Test
    void mpirunIsNotWokenAsLongAsALivingRankHasNotLeftItsRecord() throws IOException {
        record(3);
        exit(notice(1), 0, 30, 0).leave(new Job(1, List.of(2, 3), false), "rank 0 is gone");

        assertThat(order).isEmpty();
        assertThat(FailureRecord.ranksIn(folder)).containsExactly(1, 3);
    }

    @Test
    void theFirstOfTheHostWakesMpirunAsSoonAsAllHaveLeftTheirRecords() throws Exception {
        Thread others = new Thread(() -> {
            try {
                while (!FailureRecord.ranksIn(folder).contains(1)) {
                    Thread.onSpinWait();
                }
                record(3);
                record(2);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        others.start();
        exit(notice(1), 0, NEVER, 0).leave(new Job(1, List.of(2, 3), false), "rank 0 is gone");

        assertThat(order).containsExactly("woken with the records of ranks [1, 2, 3]");
        others.join();
    }

    @Test
    void anyOtherRankWakesMpirunToo() throws IOException {
        record(1);
        exit(notice(2), 0, NEVER, 0).leave(new Job(2, List.of(1), false), "rank 0 is gone");

        assertThat(order).containsExactly("woken with the records of ranks [1, 2]");
    }

    /** Nobody has been told anything by the engine, so nobody is waited for. */
    @Test
    void whereNoThreadHasWaitedTheGuardSpeaksAtOnce() {
        exit(notice(1), NEVER, NEVER, 0).sayWhy(new Job(1, List.of(), false), "rank 0 is gone");

        assertThat(FailureRecord.ranksIn(folder)).containsExactly(1);
    }

    @Test
    void aThreadThatHasWaitedSpeaksAndTheGuardDoesNot() throws Exception {
        FailureReport notice = notice(1);
        CountDownLatch waits = new CountDownLatch(1);
        Thread guard = new Thread(() -> {
            waits.countDown();
            exit(notice, NEVER, NEVER, 0).sayWhy(new Job(1, List.of(), true), "rank 0 is gone");
        });
        guard.start();
        waits.await();
        notice.consequence("thread main threw a ShutdownException", "main");
        guard.join();

        assertThat(FailureRecord.readAll(folder))
                .singleElement()
                .satisfies(record -> assertThat(record.thread()).isEqualTo("main"));
    }

    @Test
    void howeverARankLeavesTheLauncherGetsALimit() {
        exit(notice(1), 0, 0, 0).leave(new Job(1, List.of(2, 3), false), "rank 0 is gone");
        exit(notice(2), 0, 0, 0).sayWhy(new Job(2, List.of(1, 3), false), "rank 0 is gone");
        exit(notice(3), 0, 0, 0).awaitOthers(new Job(3, List.of(), false));

        assertThat(limits).containsExactly(true, false, true);
    }

    /** A rank that is killed in between has left what the launcher shows. */
    @Test
    void whatIsPrintedHasBeenRecordedBefore() {
        PrintStream before = System.err;
        System.setErr(new PrintStream(before, false, StandardCharsets.UTF_8) {
            @Override
            public void println(String line) {
                order.add(line + FailureRecord.ranksIn(folder));
            }
        });
        try {
            FailureReport notice = notice(1);
            notice.consequence("rank 0 is gone", "main");
            notice(2).failure("the disk is full", "main", "", "", 1);
        } finally {
            System.setErr(before);
        }
        assertThat(order)
                .containsExactly(
                        "hvd: consequence on this rank: rank 0 is gone[1]",
                        "hvd: FAILED: this rank: the disk is full[1, 2]");
    }

    @Test
    void whoseAProcessIsIsNoFailure() throws IOException, InterruptedException {
        FailureReport notice = notice(1);
        notice.announce();

        assertThat(FailureRecord.readStarted(folder))
                .extracting(FailureRecord::rank, FailureRecord::host, FailureRecord::pid)
                .containsExactly(tuple(
                        1, HostAddress.localName(), ProcessHandle.current().pid()));
        assertThat(FailureRecord.readAll(folder)).isEmpty();
        assertThat(notice.awaitSaid(0)).isFalse();
        assertThat(notice.awaitRecords(List::of, 0)).isTrue();
        assertThat(notice.awaitRecords(() -> List.of(1), 0)).isFalse();
    }

    @Test
    void theFirstFailureIsTheOneThatCountsAndWhoeverWaitsForItHearsIt() throws Exception {
        JobFailure failure = new JobFailure();
        assertThat(failure.words()).isEmpty();
        assertThat(failure.await(0)).isEmpty();
        Thread engine = new Thread(() -> failure.is("rank 0 is gone: its lock is free"));
        engine.start();

        assertThat(failure.await(NEVER)).isEqualTo("rank 0 is gone: its lock is free");
        assertThat(failure.is("the processes of ranks [0] are gone")).isFalse();
        assertThat(failure.words()).isEqualTo("rank 0 is gone: its lock is free");
        engine.join();
    }
}
