package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real processes: a parent that becomes another program knows nothing of its children and takes no notice of their end. */
@Timeout(60)
class UnnoticedEndsTest {
    private static final long PATIENCE = 1_000;

    private Process parent;
    private boolean allEndWell;

    @AfterEach
    void end() {
        parent.descendants().forEach(ProcessHandle::destroyForcibly);
        parent.destroyForcibly();
    }

    /** @param children each a command of the shell that is run beside the others */
    private UnnoticedEnds parentOf(String children) throws IOException {
        parent = new ProcessBuilder(List.of("sh", "-c", children + " exec sleep 100")).start();
        return new UnnoticedEnds(Path.of("/proc"), parent.pid(), PATIENCE, () -> allEndWell);
    }

    private static char state(long pid) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        return stat.charAt(stat.lastIndexOf(')') + 2);
    }

    private void awaitZombies(int count) throws IOException {
        awaitZombies(count, "sleep");
    }

    private void awaitZombies(int count, String launcher) throws IOException {
        long zombies = 0;
        while (zombies < count
                || !Files.readString(Path.of("/proc/" + parent.pid() + "/comm")).startsWith(launcher)) {
            zombies = 0;
            for (ProcessHandle process : ProcessHandle.allProcesses().toList()) {
                try {
                    String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
                    String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
                    zombies += words[0].equals("Z") && words[1].equals("" + parent.pid()) ? 1 : 0;
                } catch (IOException e) {
                    continue; // it has ended
                }
            }
        }
    }

    @Test
    void endsThatNobodyTakesNoticeOfAreToldAfterAWhileWithTheFirstFailuresCode() throws IOException {
        UnnoticedEnds ends = parentOf("(exit 0) & (exit 7) &");
        awaitZombies(2);

        assertThat(ends.look(0)).isEmpty();
        assertThat(ends.look(PATIENCE - 1)).isEmpty();
        assertThat(ends.look(PATIENCE)).isEqualTo(OptionalInt.of(7));
    }

    @Test
    void aSignalCountsAsAShellCountsIt() throws IOException {
        UnnoticedEnds ends = parentOf("sh -c 'kill -9 $$' &");
        awaitZombies(1);
        ends.look(0);

        assertThat(ends.look(PATIENCE)).isEqualTo(OptionalInt.of(137));
    }

    @Test
    void aGoodEndIsZero() throws IOException {
        UnnoticedEnds ends = parentOf("(exit 0) &");
        awaitZombies(1);
        ends.look(0);

        assertThat(ends.look(PATIENCE)).isEqualTo(OptionalInt.of(0));
    }

    @Test
    void asLongAsOneLivesNothingIsWrong() throws IOException {
        UnnoticedEnds ends = parentOf("(exit 0) & sleep 100 &");
        awaitZombies(1);
        ends.look(0);

        assertThat(ends.look(10 * PATIENCE)).isEmpty();
    }

    @Test
    void aLauncherThatWaitsForTheReaderOfItsOutputIsNotToBlame() throws IOException {
        parent = new ProcessBuilder(List.of("sh", "-c", "(exit 0) & exec head -c 10000000 /dev/zero")).start();
        UnnoticedEnds ends = new UnnoticedEnds(Path.of("/proc"), parent.pid(), PATIENCE, () -> allEndWell);
        awaitZombies(1, "head");
        while (!Files.readString(Path.of("/proc/" + parent.pid() + "/wchan")).contains("pipe")) {
            Thread.onSpinWait();
        }
        ends.look(0);

        assertThat(ends.look(10 * PATIENCE)).isEmpty();
    }

    @Test
    void aLauncherThatIsStoppedIsNotToBlame() throws Exception {
        UnnoticedEnds ends = parentOf("(exit 0) &");
        awaitZombies(1);
        ends.look(0);
        assertThat(new ProcessBuilder("kill", "-STOP", "" + parent.pid())
                        .start()
                        .waitFor())
                .isZero();
        while (state(parent.pid()) != 'T') {
            Thread.onSpinWait();
        }
        assertThat(ends.look(10 * PATIENCE)).isEmpty();
    }

    @Test
    void aLauncherThatHasTakenItsRanksAwayAndStaysIsToldOnceAllHaveSaidThatTheyEndWell() throws IOException {
        parent = new ProcessBuilder(
                        List.of("sh", "-c", "read go; sleep 1000 & child=$!; read go; kill $child; wait; read go"))
                .start();
        UnnoticedEnds ends = new UnnoticedEnds(Path.of("/proc"), parent.pid(), PATIENCE, () -> allEndWell);
        allEndWell = true;
        ends.look(0);
        assertThat(ends.look(10 * PATIENCE)).as("it has not started anything").isEmpty();
        go();
        while (parent.children().findAny().isEmpty()) {
            Thread.onSpinWait();
        }
        ends.look(11 * PATIENCE);
        assertThat(ends.look(20 * PATIENCE)).as("a rank lives").isEmpty();
        go();
        while (parent.children().findAny().isPresent()) {
            Thread.onSpinWait();
        }
        allEndWell = false;
        ends.look(21 * PATIENCE);
        assertThat(ends.look(30 * PATIENCE)).as("nobody has said so").isEmpty();
        allEndWell = true;
        assertThat(ends.look(31 * PATIENCE)).isEmpty();
        assertThat(ends.look(32 * PATIENCE)).isEqualTo(OptionalInt.of(0));
    }

    private void go() throws IOException {
        parent.getOutputStream().write('\n');
        parent.getOutputStream().flush();
    }

    @Test
    void aLauncherWithoutChildrenOrThatIsGoneIsNotToBlame() throws Exception {
        UnnoticedEnds ends = parentOf("");
        ends.look(0);
        assertThat(ends.look(10 * PATIENCE)).isEmpty();

        parent.destroyForcibly().waitFor();

        assertThat(ends.look(20 * PATIENCE)).isEmpty();
    }
}
