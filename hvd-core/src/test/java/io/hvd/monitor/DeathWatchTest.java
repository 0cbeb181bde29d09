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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    /** It lived when the ranks introduced themselves, and its process number may be another's by now. */
    @Test
    void whoDiedBeforeTheWatchBeganIsNamedToo() throws Exception {
        Process first = process();
        Process second = process();
        Process third = process();
        Member gone = rank(0, first);
        Member followed = new Member(2, "here", second.pid(), 1, gone.machine());
        first.destroyForcibly().waitFor();
        DeathWatch.start(1, List.of(gone, Member.ofThisProcess(1, "here"), followed, rank(3, third)), end, deaths::add);

        assertThat(deaths.poll(20, TimeUnit.SECONDS)).containsExactlyInAnyOrder(0, 2);
    }

    /** A system or a container may hide processes, which is no reason to end a job. */
    @Test
    void whoCouldNotSeeItselfAndWhoIsElsewhereIsNotWatched() throws Exception {
        Process gone = process();
        Member known = rank(0, gone);
        Member hidden = new Member(0, "here", known.pid(), 0, known.machine());
        gone.destroyForcibly().waitFor();
        Process there = process();
        Member elsewhere = new Member(2, "there", there.pid(), 1, "another machine");
        DeathWatch.start(1, List.of(hidden, Member.ofThisProcess(1, "here"), elsewhere), end, deaths::add);
        assertThat(deaths.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "'proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0', true",
        "'proc /proc proc rw,hidepid=0 0 0', true",
        "'proc /proc proc rw,hidepid=off 0 0', true",
        "'proc /proc proc rw,relatime,hidepid=2 0 0', false",
        "'proc /proc proc rw,hidepid=invisible,gid=7 0 0', false",
        "'proc /proc proc rw,hidepid=1 0 0', false",
        "'none /tmp tmpfs rw,hidepid=2 0 0', true",
    })
    void aProcessThatIsNotSeenIsGoneWhereNothingIsHidden(String mount, boolean shows) {
        assertThat(ProcessStat.showsEverything(List.of("none / overlay rw 0 0", mount)))
                .isEqualTo(shows);
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
