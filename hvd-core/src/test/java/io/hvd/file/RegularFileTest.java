package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class RegularFileTest {
    @TempDir
    Path folder;

    @Test
    void whatIsNoRegularFileIsSaidToBeWhatItIsAndNotOpened() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        Path link = Files.createSymbolicLink(folder.resolve("link"), pipe);
        refused(pipe, "a named pipe");
        refused(link, "a named pipe");
        refused(folder, "a folder");
        refused(Path.of("/dev/zero"), "a device");
        try (ServerSocketChannel socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            Path path = folder.resolve("socket");
            socket.bind(UnixDomainSocketAddress.of(path));
            refused(path, "a socket");
        }
        assertThatThrownBy(() -> RegularFile.at(link, LinkOption.NOFOLLOW_LINKS))
                .hasMessage(link + ": is a symbolic link, expected a regular file");
    }

    private static void refused(Path path, String kind) {
        assertThatThrownBy(() -> RegularFile.at(path)).hasMessage(path + ": is " + kind + ", expected a regular file");
        assertThat(RegularFile.isAt(path)).isFalse();
        assertThat(RegularFile.recognise(path)).isEmpty();
    }

    @Test
    void aFileALinkToOneAndNothingAtAllAreLetThrough() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        Path nothing = folder.resolve("nothing");
        assertThat(RegularFile.at(file)).isEqualTo(file);
        assertThat(RegularFile.at(link)).isEqualTo(link);
        assertThat(RegularFile.at(nothing)).isEqualTo(nothing);
    }

    /** As a lock is that several processes make at once, or a record that is swept. */
    @Test
    void aFileThatComesAndGoesMeanwhileIsLetThrough() throws Exception {
        Path file = folder.resolve("lock");
        var ended = new AtomicBoolean();
        Thread other = new Thread(() -> {
            try {
                while (!ended.get()) {
                    Files.createFile(file);
                    Files.delete(file);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        other.start();
        try {
            for (int i = 0; i < 50_000; i++) {
                assertThat(RegularFile.at(file)).isEqualTo(file);
            }
        } finally {
            ended.set(true);
            other.join();
        }
    }

    /** The numbers are those of the formats' own descriptions, and of files that their programs have written. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "80028a0a6cfc9c46f9206aa850192e|torch.save",
                "80049538000000000000008c|a pickle of Python",
                "504b0304000008080000000000000000000000000000000000001000080061726368697665 2f646174612e706b6c|torch.save",
                "504b03041400000008000000000000000000000000000000000009000000 6172725f302e6e7079|an .npz archive of numpy",
                "504b0304140000000800000000000000000000000000000000000a000000 72656164 6d652e74 7874|a zip archive",
                "1f8b0800000000000003|gzip",
                "425a683931415926|bzip2",
                "fd377a585a000004|xz",
                "28b52ffd24000100|zstd",
                "894844460d0a1a0a00|HDF5",
                "4747554603000000|GGUF",
                "934e554d505901007600|an array of numpy",
                "080712077079746f7263681a|an ONNX model",
                "0808 3aff01|an ONNX model",
                "89504e470d0a1a0a0000000d|a PNG image",
                "ffd8ffe000104a464946|a JPEG image",
                "0000080300002710|an IDX file of images",
                "0000080100002710|an IDX file of labels",
                "40000000000000007b2277223a|a safetensors file",
                "7f454c4602010100|a program or library of Linux",
                "0000000000000000000000000000000000|17 zeros",
                "''|empty",
            })
    void aFileIsKnownByItsFirstBytes(String hex, String what) throws IOException {
        byte[] bytes = HexFormat.of().parseHex(hex.replace(" ", ""));
        Path file = Files.write(folder.resolve("file"), bytes);
        assertThat(RegularFile.recognise(file)).get().asString().contains(what);
        assertThat(RegularFile.inWords(file)).startsWith("; it ").contains(what);
    }

    @Test
    void textsAreKnownByTheirWords() throws IOException {
        text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n", "Git LFS", "12345 bytes");
        text("/annex/objects/MD5E-s12--ab.bin\n", "git-annex");
        text("\ufeff<!DOCTYPE HTML>\n<HTML>", "an HTML page");
        text("<html lang=\"en\"><head>", "an HTML page");
        text("<Error><Code>NoSuchKey</Code></Error>", "XML");
        text("{\"error\": \"Invalid username or password.\"}", "a text that begins with \"{\"error\"");
        text("{\n \"metadata\": {\"total_size\": 9},\n \"weight_map\": {", "index of a checkpoint in several files");
        text("Entry not found", "\"Entry not found\"");
    }

    private void text(String text, String... facts) throws IOException {
        assertThat(RegularFile.recognise(Files.writeString(folder.resolve("text"), text)))
                .get()
                .asString()
                .contains(facts);
    }

    @Test
    void ofOtherBytesNothingIsSaidAndThePositionOfAnOpenFileStays() throws IOException {
        byte[] noise = new byte[600];
        Arrays.fill(noise, (byte) 0xa5);
        Path file = Files.write(folder.resolve("noise"), noise);
        assertThat(RegularFile.inWords(file)).isEmpty();
        assertThat(RegularFile.recognise(folder.resolve("nothing"))).isEmpty();
        Files.write(file, "GGUF....".getBytes(StandardCharsets.US_ASCII));
        try (FileChannel channel = FileChannel.open(file)) {
            channel.position(5);
            assertThat(RegularFile.recognise(channel)).get().asString().contains("GGUF");
            assertThat(channel.position()).isEqualTo(5);
        }
    }

    @Test
    void aFileIsMineIfItsOwnerIsThisProcesssUserAndNobodyElseReadsIt() throws IOException {
        Path file = Files.createFile(folder.resolve("mine"), RegularFile.onlyMine());
        assertThat(RegularFile.isMine(file)).isTrue();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(folder)
                .as("what was made to find out is gone")
                .isDirectoryNotContaining(other -> !other.equals(file));

        assumeTrue(System.getProperty("user.name").equals("root"), "only root can give a file away");
        Files.setAttribute(file, "unix:uid", 12_345);
        assertThat(RegularFile.isMine(file)).isFalse();
    }
}
