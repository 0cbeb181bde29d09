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

    @Test
    void whatIsNotAskedForIsNotLookedAt() {
        assertThat(onTwoRanks(null)).containsOnly("nothing");
    }

    private static List<String> onTwoRanks(Path file) {
        OutputFiles files = new OutputFiles().with("checkpoint", Optional.ofNullable(file));
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
