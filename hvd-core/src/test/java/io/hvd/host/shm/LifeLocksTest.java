package io.hvd.host.shm;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Abandonment;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that share a file without a name. */
@Timeout(60)
class LifeLocksTest {
    private static final int BYTES = 4096;

    @TempDir
    private Path folder;

    private Path file;

    /** Lives until it is killed, or its input ends. */
    static final class Other {
        private Other() {}

        /** The file, and the place to hold in it. */
        public static void main(String[] args) throws IOException {
            try (LifeLocks held = LifeLocks.hold(open(Path.of(args[0])), Integer.parseInt(args[1]))) {
                System.out.println("HELD " + held.hasEnded(0));
                if (System.in.read() < 0) {
                    return;
                }
            }
        }
    }

    private static FileChannel open(Path file) throws IOException {
        return SegmentFile.open(file, BYTES);
    }

    @BeforeEach
    void make() throws IOException {
        file = SegmentFile.create(folder, BYTES);
    }

    /** @return when it holds its lock, and has seen that this process lives */
    private Process start(int place) throws IOException {
        Process other = new ProcessBuilder(io.hvd.testing.Job.program(Other.class, file.toString(), "" + place))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        assertThat(other.inputReader().readLine()).isEqualTo("HELD false");
        return other;
    }

    @Test
    void whoeverIsKilledHasEndedAndWhoeverIsStoppedHasNot() throws Exception {
        try (LifeLocks own = LifeLocks.hold(open(file), 0)) {
            Process second = start(1);
            Process third = start(2);
            Files.delete(file);
            assertThat(own.hasEnded(1)).isFalse();
            new ProcessBuilder("kill", "-STOP", "" + third.pid()).start().waitFor();
            assertThat(own.hasEnded(2)).isFalse();

            second.destroyForcibly().waitFor();
            assertThat(own.hasEnded(1)).isTrue();
            assertThat(own.hasEnded(1)).as("once more").isTrue();
            assertThat(own.hasEnded(2)).isFalse();
            third.destroyForcibly().waitFor();
            assertThat(own.hasEnded(2)).isTrue();
        }
    }

    @Test
    void whoeverEndsInOrderHasEndedToo() throws Exception {
        try (LifeLocks own = LifeLocks.hold(open(file), 0)) {
            Process second = start(1);
            second.getOutputStream().close();
            assertThat(second.waitFor(20, TimeUnit.SECONDS)).isTrue();

            assertThat(own.hasEnded(1)).isTrue();
        }
    }

    @Test
    void aThreadOfTheSameProcessLivesUntilItLeaves() throws Exception {
        LifeLocks first = LifeLocks.hold(open(file), 0);
        LifeLocks second = LifeLocks.hold(open(file), 1);
        System.gc();
        assertThat(first.hasEnded(1)).isFalse();
        assertThat(second.hasEnded(0)).isFalse();

        second.close();
        assertThat(first.hasEnded(1)).isTrue();
        first.close();
    }

    @Test
    void whatIsSaidOfADeadProcessNamesItAndItsHostAndTheOthers() throws Exception {
        LifeLocks own = LifeLocks.hold(open(file), 0);
        LockedGroup group = new LockedGroup(List.of(4, 5, 7), "node-b", own, new Abandonment());
        assertThat(group.hasEnded(2)).isTrue();
        assertThat(group.without(2))
                .hasMessageContainingAll("rank 7 is gone", "process has ended", "ranks [4, 5, 7]", "host node-b");
        group.close();
    }

    /** A channel closes itself, and its locks go, if an interrupted thread does anything in it that can wait. */
    @Test
    void aThreadThatWasInterruptedLooksAndIsStillSeenToLive() throws Exception {
        LifeLocks own = LifeLocks.hold(open(file), 0);
        Thread.currentThread().interrupt();
        boolean ended = own.hasEnded(1);
        assertThat(Thread.interrupted()).isTrue();

        assertThat(ended).isTrue();
        start(1).destroyForcibly().waitFor(); // has seen it alive, or start would have failed
        own.close();
    }
}
