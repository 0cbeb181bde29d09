package io.hvd.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real processes in the place of the other ranks. */
@Timeout(60)
class DeathWatchTest {
    private static final long QUIET_MILLIS = 400;

    private final CountDownLatch end = new CountDownLatch(1);
    private final LinkedBlockingQueue<List<Integer>> deaths = new LinkedBlockingQueue<>();
    private final List<Process> processes = new ArrayList<>();

    @AfterEach
    void stop() {
        end.countDown();
        processes.forEach(Process::destroyForcibly);
    }

    private Process process() throws Exception {
        Process process = new ProcessBuilder("sleep", "60").start();
        processes.add(process);
        return process;
    }

    private static Member rank(int rank, Process process) {
        return Member.of(rank, "here", process.pid());
    }

    @Test
    void aRankWhoseProcessEndsIsNamedOnce() throws Exception {
        Process first = process();
        Process second = process();
        List<Member> members = List.of(rank(0, first), Member.ofThisProcess(1, "here"), rank(2, second));
        DeathWatch.start(1, members, end, deaths::add);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();

        first.destroyForcibly();
        assertThat(deaths.poll(20, TimeUnit.SECONDS)).containsExactly(0);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }

    /** A container may hide processes of its neighbour, which is no reason to end a job. */
    @Test
    void whoWasNeverSeenAliveAndWhoIsElsewhereIsNotWatched() throws Exception {
        Process gone = process();
        Member hidden = rank(0, gone);
        gone.destroyForcibly().waitFor();
        Process there = process();
        Member elsewhere = new Member(2, "there", there.pid(), 1, "another machine");
        DeathWatch.start(1, List.of(hidden, Member.ofThisProcess(1, "here"), elsewhere), end, deaths::add);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }

    @Test
    void afterTheEndNobodyIsNamed() throws Exception {
        Process other = process();
        DeathWatch.start(0, List.of(Member.ofThisProcess(0, "here"), rank(1, other)), end, deaths::add);
        end.countDown();
        other.destroyForcibly();
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }
}
