package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.testing.Job;
import io.hvd.testing.StandardError;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class WholeFileTest {
    private static final byte[] NEW = "new".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void choose() {
        file = folder.resolve("results.bin");
    }

    @Test
    void aFileIsMadeOrReplacedAndNothingElseStays() throws IOException {
        WholeFile.write(file, "old and longer".getBytes(StandardCharsets.UTF_8));
        WholeFile.write(file, NEW);
        assertThat(file).hasBinaryContent(NEW);
        assertThat(names()).containsExactly("results.bin");
    }

    @Test
    void whatAKilledProcessHasLeftIsDeletedByTheNextWrite() throws IOException {
        WholeFileProgram.beginAndBeKilled(file);

        WholeFile.write(file, NEW);

        assertThat(names()).containsExactly("results.bin");
        assertThat(file).hasBinaryContent(NEW);
    }

    @Test
    void whatALivingProcessIsWritingStaysAndBecomesTheFile() throws Exception {
        Process writer = start("waiting", file);
        try {
            assertThat(line(writer)).isEqualTo("writing");
            String unfinished = names().get(0);

            WholeFile.write(file, NEW);

            assertThat(names()).containsExactlyInAnyOrder("results.bin", unfinished);
            assertThat(file).hasBinaryContent(NEW);
            goOn(writer);
            assertThat(writer.waitFor()).isZero();
            assertThat(file).hasContent("the first half, the second half");
            assertThat(names()).containsExactly("results.bin");
        } finally {
            writer.destroyForcibly();
        }
    }

    @Test
    void aProcessThatHasTheNumberOfADeadOneDoesNotKeepItsFile() throws IOException {
        Owner mine = Owner.thisProcess();
        leave(new Owner(mine.boot(), mine.pid(), mine.start() - 1));

        WholeFile.write(file, NEW);

        assertThat(names()).containsExactly("results.bin");
    }

    /** This is how another container of this host looks from here: its processes are not seen, its locks are. */
    @Test
    void whatAProcessHasLockedThatIsNotSeenFromHereStays() throws Exception {
        Path left = leave(unseen(Owner.thisProcess().boot()));
        Process holder = start("locking", left);
        try {
            assertThat(line(holder)).isEqualTo("locked");

            WholeFile.write(file, NEW);
            assertThat(left).exists();

            goOn(holder);
            assertThat(holder.waitFor()).isZero();
            WholeFile.write(file, NEW);
            assertThat(left).doesNotExist();
        } finally {
            holder.destroyForcibly();
        }
    }

    @Test
    void whatAnotherHostHasLeftStaysAndIsNamed() throws Exception {
        Path left = leave(unseen("0123456789ab"));

        String said = StandardError.during(() -> WholeFile.write(file, NEW));

        assertThat(names())
                .containsExactlyInAnyOrder("results.bin", left.getFileName().toString());
        assertThat(said).contains(left.toString(), "of another host");
    }

    @Test
    void whereTheKernelIsNotKnownNothingIsTakenForThisHosts() throws IOException {
        Path left = leave(unseen(Owner.UNKNOWN));
        WholeFile.write(file, NEW);
        assertThat(left).exists();
        assertThat(unseen(Owner.UNKNOWN).isBeside(unseen(Owner.UNKNOWN))).isFalse();
    }

    @Test
    void temporaryFilesOfOtherFilesStay() throws IOException {
        String dead = unseen(Owner.thisProcess().boot()).word();
        List<String> others = List.of(
                ".other.bin." + dead + ".tmp",
                ".results.bin.2." + dead + ".tmp",
                ".results.bin." + dead + ".tmp.gz",
                ".results.bin.tmp",
                ".results.bin.4711.tmp");
        for (String other : others) {
            Files.createFile(folder.resolve(other));
        }

        WholeFile.write(file, NEW);

        assertThat(names()).containsAll(others).hasSize(others.size() + 1);
    }

    @Test
    void aSecondWriteOfTheSameFileMeanwhileIsRefusedAndTheFirstOneEndsWell() throws IOException {
        WholeFile.write(file, channel -> {
            assertThatThrownBy(() -> WholeFile.write(file, NEW))
                    .isInstanceOf(FileSystemException.class)
                    .hasMessageContaining(file.toString())
                    .hasMessageContaining("FileAlreadyExists");
            channel.write(ByteBuffer.wrap("first".getBytes(StandardCharsets.UTF_8)));
        });
        assertThat(file).hasContent("first");
        assertThat(names()).containsExactly("results.bin");
    }

    @Test
    void afterAnErrorTheFileIsAsItWasAndTheErrorNamesIt() throws IOException {
        WholeFile.write(file, NEW);

        assertThatThrownBy(() -> WholeFile.write(file, channel -> {
                    channel.write(ByteBuffer.allocate(100));
                    throw new IOException("No space left on device");
                }))
                .isInstanceOf(FileSystemException.class)
                .hasMessage(file + ": could not be written and is as it was before: No space left on device");

        assertThat(file).hasBinaryContent(NEW);
        assertThat(names()).containsExactly("results.bin");
    }

    /** With the system's own limit, since not everybody can mount a small disk; the words for a full one differ. */
    @Test
    void whatTheSystemRefusesToWriteIsNamedAndNothingIsLeft() throws IOException {
        List<String> limited = new ArrayList<>(List.of("sh", "-c", "ulimit -f 256 && exec \"$0\" \"$@\""));
        limited.addAll(Job.program(WholeFileProgram.class, "large", file.toString()));
        limited.add(limited.indexOf("-cp"), "-XX:-UsePerfData");

        Job job = Job.run(limited, Map.of());

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("Exception in thread").get(0))
                .contains(file.toString(), "is as it was before", "File too large");
        assertThat(names()).isEmpty();
    }

    @Test
    void aFolderThatIsNotThereOrCannotBeWrittenIsNamed() {
        Path nowhere = folder.resolve("no/such/folder/results.bin");
        Path proc = Path.of("/proc/results.bin");
        for (Path bad : List.of(nowhere, proc)) {
            assertThatThrownBy(() -> WholeFile.write(bad, NEW))
                    .isInstanceOf(FileSystemException.class)
                    .hasMessageStartingWith(bad + ": could not be written");
            assertThatThrownBy(() -> WholeFile.requireWritable(bad))
                    .isInstanceOf(FileSystemException.class)
                    .hasMessageStartingWith(bad + ": cannot be written");
        }
    }

    @Test
    void tryingItOutLeavesNothingBehind() throws IOException {
        WholeFile.requireWritable(file);
        assertThat(names()).isEmpty();
        WholeFile.write(file, NEW);
        WholeFile.requireWritable(file);
        assertThat(file).hasBinaryContent(NEW);
        assertThat(names()).containsExactly("results.bin");
    }

    @Test
    void aFolderOrADeviceIsNeverReplaced() {
        for (Path bad : List.of(folder, Path.of("/dev/null"))) {
            assertThatThrownBy(() -> WholeFile.write(bad, NEW)).hasMessageContaining("expected a regular file");
        }
        assertThat(Files.isRegularFile(Path.of("/dev/null"))).isFalse();
    }

    @Test
    void whatALinkLeadsToIsReplacedAndTheLinkStays() throws IOException {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere")).resolve("real.bin");
        Files.writeString(elsewhere, "old");
        Files.createSymbolicLink(file, elsewhere);

        WholeFile.write(file, NEW);

        assertThat(file).isSymbolicLink();
        assertThat(elsewhere).hasBinaryContent(NEW);
    }

    @Test
    void aLinkInTheWayOfTheTemporaryFileLeadsNowhere() throws IOException {
        Path victim = Files.writeString(folder.resolve("victim"), "untouched");
        Files.createSymbolicLink(folder.resolve(StaleFiles.name(file, Owner.thisProcess())), victim);

        WholeFile.write(file, NEW);

        assertThat(victim).hasContent("untouched");
        assertThat(names()).containsExactlyInAnyOrder("victim", "results.bin");
    }

    @Test
    void theNewFileHasThePermissionsOfTheOldOneOrThoseAskedFor() throws IOException {
        var onlyMine = PosixFilePermissions.fromString("rw-------");
        WholeFile.write(file, NEW, PosixFilePermissions.asFileAttribute(onlyMine));
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(onlyMine);
        WholeFile.write(file, NEW);
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(onlyMine);
    }

    /** A process of this boot that does not run: the kernel's own process 0 has no entry in /proc. */
    private static Owner unseen(String boot) {
        return new Owner(boot, 0, 1);
    }

    private Path leave(Owner owner) throws IOException {
        return Files.writeString(folder.resolve(StaleFiles.name(file, owner)), "half");
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(each -> each.getFileName().toString()).sorted().toList();
        }
    }

    private static Process start(String what, Path path) throws IOException {
        return new ProcessBuilder(Job.program(WholeFileProgram.class, what, path.toString()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static String line(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    private static void goOn(Process process) throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
    }

    /** Anybody can put it there in a folder such as /tmp, and nobody ever reads it. */
    @Test
    void aNamedPipeUnderTheNameOfAnAbandonedFileIsNotWaitedFor() throws Exception {
        Owner mine = Owner.thisProcess();
        Path pipe = folder.resolve(StaleFiles.name(file, new Owner(mine.boot(), 999_999_999, 1)));
        pipe(pipe);

        WholeFile.write(file, NEW);

        assertThat(file).hasBinaryContent(NEW);
        assertThat(pipe).exists();
    }

    @Test
    void aNamedPipeIsNeverReplaced() throws Exception {
        pipe(file);
        assertThatThrownBy(() -> WholeFile.write(file, NEW))
                .hasMessage(file
                        + ": could not be written and is as it was before: is a named pipe, expected a regular file");
    }

    private static void pipe(Path path) throws Exception {
        assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor())
                .isZero();
    }

    /** After a loss of power the file has its name only if the folder was forced to the disk too. */
    @Test
    void theFileIsForcedToTheDiskAndThenItsNameIs() throws Exception {
        try (Recording recording = new Recording()) {
            recording.enable("jdk.FileForce").withoutThreshold();
            recording.start();
            WholeFile.write(file, NEW);
            recording.stop();
            Path events = folder.resolve("events.jfr");
            recording.dump(events);
            List<String> forced = RecordingFile.readAllEvents(events).stream()
                    .sorted(Comparator.comparing(RecordedEvent::getStartTime))
                    .map(event -> event.getString("path"))
                    .filter(path -> path.startsWith(folder.toString()))
                    .toList();
            assertThat(forced).hasSize(2).last().isEqualTo(folder.toString());
            assertThat(forced.get(0)).contains(".results.bin.").endsWith(".tmp");
        }
    }
}
