package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputFilesTest {
    @TempDir
    Path folder;

    @Test
    void aFileInAMissingFolderIsRefusedOnEveryRank() {
        Path file = folder.resolve("missing/model.ckpt");

        assertThat(onTwoRanks(file))
                .hasSize(2)
                .allSatisfy(said -> assertThat(said)
                        .contains(
                                "--checkpoint",
                                file.toString(),
                                folder.resolve("missing").toString()));
    }

    @Test
    void aFolderIsNoFile() {
        assertThat(onTwoRanks(folder)).allSatisfy(said -> assertThat(said).contains("is a folder"));
    }

    @Test
    void aFileThatCanBeWrittenPasses() {
        assertThat(onTwoRanks(folder.resolve("model.ckpt"))).containsOnly("nothing");
        assertThat(onTwoRanks(Path.of("model.ckpt"))).containsOnly("nothing");
    }

    /** /proc lets nobody make a file, root neither, though it says that root may. */
    @Test
    void aFolderInWhichNothingCanBeMadeIsFoundByTrying() {
        assertThat(onTwoRanks(Path.of("/proc/model.ckpt")))
                .hasSize(2)
                .allSatisfy(said -> assertThat(said).contains("--checkpoint /proc/model.ckpt", "cannot be written"));
    }

    @Test
    void aDeviceTakesATextAndNoCheckpoint() {
        Path device = Path.of("/dev/null");
        assertThat(onTwoRanks(device)).allSatisfy(said -> assertThat(said).contains("expected a regular file"));
        assertThat(onTwoRanks(new OutputFiles().withText("predict-out", Optional.of(device))))
                .containsOnly("nothing");
        assertThat(onTwoRanks(new OutputFiles().withText("predict-out", Optional.of(Path.of("/proc/rows")))))
                .allSatisfy(said -> assertThat(said).contains("--predict-out /proc/rows"));
    }

    @Test
    void tryingLeavesNothingBehind() {
        onTwoRanks(folder.resolve("model.ckpt"));
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void whatIsNotAskedForIsNotLookedAt() {
        assertThat(onTwoRanks(new OutputFiles().with("checkpoint", Optional.empty())))
                .containsOnly("nothing");
    }

    private static List<String> onTwoRanks(Path file) {
        return onTwoRanks(new OutputFiles().with("checkpoint", Optional.of(file)));
    }

    private static List<String> onTwoRanks(OutputFiles files) {
        return Hvd.spawn(2, hvd -> {
            try {
                files.require(hvd);
                return "nothing";
            } catch (ParseException e) {
                return e.getMessage();
            }
        });
    }
}
