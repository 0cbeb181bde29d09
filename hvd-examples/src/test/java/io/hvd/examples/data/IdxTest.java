package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IdxTest {

    @TempDir
    Path directory;

    @Test
    void readsImagesAndLabels() throws IOException {
        Idx images = Idx.images(file(IdxFiles.images(2)));
        assertThat(images.sizes()).containsExactly(2, 2, 3);
        assertThat(images.values()).containsExactly(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15);

        Idx labels = Idx.labels(file(IdxFiles.labels(7, 0, 9)));
        assertThat(labels.count()).isEqualTo(3);
        assertThat(labels.values()).containsExactly(7, 0, 9);
    }

    @Test
    void readsCompressedFilesWhateverTheirName() throws IOException {
        assertThat(Idx.labels(file(IdxFiles.gzip(IdxFiles.labels(7, 0, 9)))).values())
                .containsExactly(7, 0, 9);
    }

    @Test
    void aFileWithoutValuesIsSound() throws IOException {
        assertThat(Idx.images(file(IdxFiles.images(0))).count()).isZero();
    }

    @Test
    void aWrongMagicNumberIsNamedWithTheExpectedOne() throws IOException {
        Path file = file(IdxFiles.images(1));

        assertThatThrownBy(() -> Idx.labels(file))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(file.toString(), "0x00000803", "0x00000801");
    }

    @Test
    void missingValuesAreCounted() throws IOException {
        byte[] whole = IdxFiles.images(2);
        Path file = file(Arrays.copyOf(whole, whole.length - 5));

        assertThatThrownBy(() -> Idx.images(file))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(file.toString(), "found 7", "expected 12");
    }

    @Test
    void valuesBeyondTheEndAreRefused() throws IOException {
        byte[] whole = IdxFiles.images(2);
        Path file = file(Arrays.copyOf(whole, whole.length + 1));

        assertThatThrownBy(() -> Idx.images(file)).hasMessageContainingAll(file.toString(), "more", "12");
    }

    @Test
    void aFileThatEndsInItsHeaderOrItsCompressionIsRefused() throws IOException {
        byte[] zipped = IdxFiles.gzip(IdxFiles.images(2));
        byte[][] cut = {{}, {0, 0, 8}, Arrays.copyOf(IdxFiles.images(2), 13), Arrays.copyOf(zipped, 30)};
        for (byte[] content : cut) {
            Path file = file(content);
            assertThatThrownBy(() -> Idx.images(file))
                    .isInstanceOf(IOException.class)
                    .hasMessageContainingAll(file.toString(), "ends early");
        }
    }

    @Test
    void aBrokenGzipStreamIsRefusedWithTheNameOfTheFile() throws IOException {
        byte[] zipped = IdxFiles.gzip(IdxFiles.images(2));
        zipped[zipped.length - 6] ^= 0x55;
        Path file = file(zipped);

        assertThatThrownBy(() -> Idx.images(file)).hasMessageContainingAll(file.toString(), "gzip");
    }

    @Test
    void impossibleSizesAreRefusedBeforeMemoryIsTaken() throws IOException {
        Path negative = file(IdxFiles.bytes(new byte[0], 0x803, -1, 28, 28));
        assertThatThrownBy(() -> Idx.images(negative)).hasMessageContainingAll(negative.toString(), "-1");

        Path huge = file(IdxFiles.bytes(new byte[0], 0x803, 1 << 30, 28, 28));
        assertThatThrownBy(() -> Idx.images(huge)).hasMessageContainingAll(huge.toString(), "too large", "1073741824");

        Path lying = file(IdxFiles.bytes(new byte[3], 0x801, Integer.MAX_VALUE));
        assertThatThrownBy(() -> Idx.labels(lying)).hasMessageContainingAll("found 3", "expected 2147483647");
    }

    private Path file(byte[] content) throws IOException {
        return Files.write(Files.createTempFile(directory, "some", "-ubyte"), content);
    }

    @Test
    void aPointerAPageAndAPipeInItsPlaceAreSaidToBeThat() throws Exception {
        Path file = directory.resolve("train-images-idx3-ubyte.gz");
        Files.writeString(file, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9912422\n");
        assertThatThrownBy(() -> Idx.images(file)).hasMessageContainingAll(file.toString(), "Git LFS", "git lfs pull");
        Files.writeString(file, "<html><body>404</body></html>");
        assertThatThrownBy(() -> Idx.images(file)).hasMessageContaining("an HTML page");
        Files.write(file, new byte[0]);
        assertThatThrownBy(() -> Idx.images(file)).hasMessageContaining("is empty");
        Files.delete(file);
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .isZero();
        assertThatThrownBy(() -> Idx.images(file)).hasMessageContaining("is a named pipe");
    }
}
