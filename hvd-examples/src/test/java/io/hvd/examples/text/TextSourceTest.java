package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TextSourceTest {
    @TempDir
    Path folder;

    @Test
    void allRanksNameTheOneThatLacksItsFile() throws Exception {
        Files.writeString(folder.resolve("text-0"), "a text");

        List<String> said = Hvd.spawn(2, hvd -> read(hvd, folder.resolve("text-" + hvd.rank())));

        String file = folder.resolve("text-1").toString();
        String host = Hvd.spawn(1, hvd -> hvd.hosts().get(0)).get(0);
        assertThat(said)
                .hasSize(2)
                .containsOnly("--data-file " + file + " cannot be read: java.nio.file.NoSuchFileException: " + file
                        + ", on rank 1 (" + host + ")");
    }

    @Test
    void ifSeveralRanksLackItTheFirstIsNamedAndTheOthersAreCounted() throws Exception {
        Files.write(folder.resolve("text-1"), new byte[] {(byte) 0xc3, (byte) 0x28});
        Files.writeString(folder.resolve("text-0"), "a text");

        List<String> said = Hvd.spawn(3, hvd -> read(hvd, folder.resolve("text-" + hvd.rank())));

        assertThat(said)
                .hasSize(3)
                .containsOnly(said.get(0))
                .allSatisfy(each -> assertThat(each)
                        .contains("text-1: it is not a text in UTF-8: found byte 0xc3 in line 1", "on rank 1 (")
                        .endsWith(" and on 1 more of 3 ranks"));
    }

    @Test
    void aTextThatAllHaveIsRead() throws Exception {
        Path file = Files.writeString(folder.resolve("text"), "to be");

        assertThat(Hvd.spawn(2, hvd -> read(hvd, file))).containsOnly("5 characters");
    }

    @Test
    void ofATextOnlyTheByteOrderMarkIsTakenAway() throws Exception {
        String text = " to\u00a0be\u200b\r\n\ufeffor e\u0301\t \n";
        Path file = Files.writeString(folder.resolve("text"), "\ufeff" + text);

        Text read = Hvd.spawn(1, hvd -> new TextSource(Optional.of(file), 1).read(hvd))
                .get(0);

        assertThat(read.decode(read.places())).isEqualTo(text);
    }

    @Test
    void aTextInUtf16IsNamedSo() throws Exception {
        Path file = Files.writeString(folder.resolve("text"), "to be", StandardCharsets.UTF_16);

        assertThat(Hvd.spawn(1, hvd -> read(hvd, file)).get(0)).contains("text", "UTF-16", "expected UTF-8");
    }

    private static String read(HvdContext hvd, Path file) {
        try {
            return new TextSource(Optional.of(file), 1).read(hvd).length() + " characters";
        } catch (ParseException e) {
            return e.getMessage();
        }
    }

    @Test
    void aPointerOfGitLfsIsNoText() throws IOException {
        Path file = Files.writeString(
                folder.resolve("corpus.txt"),
                "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9912422\n");
        Hvd.spawn(1, hvd -> {
            assertThatThrownBy(() -> new TextSource(Optional.of(file), 1).read(hvd))
                    .hasMessageContainingAll("--data-file " + file, "Git LFS", "9912422 bytes");
            return null;
        });
    }
}
