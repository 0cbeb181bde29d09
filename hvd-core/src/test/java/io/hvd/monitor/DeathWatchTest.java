package io.hvd.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.RankProcess;
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

    private static RankProcess rank(int rank, Process process) {
        return RankProcess.of(rank, "here", process.pid());
    }

    @Test
    void aRankWhoseProcessEndsIsNamedOnce() throws Exception {
        Process first = process();
        Process second = process();
        List<RankProcess> members = List.of(rank(0, first), RankProcess.ofThisProcess(1, "here"), rank(2, second));
        DeathWatch.start(1, members, end, deaths::add);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();

        first.destroyForcibly();
        assertThat(deaths.poll(20, TimeUnit.SECONDS)).containsExactly(0);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }

    /** It lived when the ranks introduced themselves, and its process number may be another's by now. */
    @Test
    void whoDiedBeforeTheWatchBeganIsNamedToo() throws Exception {
        Process first = process();
        Process second = process();
        Process third = process();
        RankProcess gone = rank(0, first);
        RankProcess followed = new RankProcess(2, "here", second.pid(), 1, gone.machine());
        first.destroyForcibly().waitFor();
        DeathWatch.start(
                1, List.of(gone, RankProcess.ofThisProcess(1, "here"), followed, rank(3, third)), end, deaths::add);

        assertThat(deaths.poll(20, TimeUnit.SECONDS)).containsExactlyInAnyOrder(0, 2);
    }

    /** A system or a container may hide processes, which is no reason to end a job. */
    @Test
    void whoCouldNotSeeItselfAndWhoIsElsewhereIsNotWatched() throws Exception {
        Process gone = process();
        RankProcess known = rank(0, gone);
        RankProcess hidden = new RankProcess(0, "here", known.pid(), 0, known.machine());
        gone.destroyForcibly().waitFor();
        Process there = process();
        RankProcess elsewhere = new RankProcess(2, "there", there.pid(), 1, "another machine");
        DeathWatch.start(1, List.of(hidden, RankProcess.ofThisProcess(1, "here"), elsewhere), end, deaths::add);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }

    @Test
    void afterTheEndNobodyIsNamed() throws Exception {
        Process other = process();
        DeathWatch.start(0, List.of(RankProcess.ofThisProcess(0, "here"), rank(1, other)), end, deaths::add);
        end.countDown();
        other.destroyForcibly();
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }
}
