package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.LocalDateTime;
import java.util.HexFormat;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileFactTest {
    private static final FileTime TIME = FileTime.fromMillis(1_000_000_000_000L);

    @TempDir
    private Path folder;

    /** A jar whose entries and file have always the same time, as a reproducible build makes it. */
    private Path jar(String name, int method, String comment, String... nameAndText) throws IOException {
        Path jar = folder.resolve(name);
        try (OutputStream out = Files.newOutputStream(jar);
                var zip = new ZipOutputStream(out)) {
            zip.setComment(comment);
            for (int i = 0; i < nameAndText.length; i += 2) {
                byte[] text = nameAndText[i + 1].getBytes(StandardCharsets.ISO_8859_1);
                var checksum = new CRC32();
                checksum.update(text);
                var entry = new ZipEntry(nameAndText[i]);
                entry.setTimeLocal(LocalDateTime.of(2000, 1, 1, 0, 0));
                entry.setMethod(method);
                entry.setSize(text.length);
                entry.setCrc(checksum.getValue());
                zip.putNextEntry(entry);
                zip.write(text);
            }
        }
        Files.setLastModifiedTime(jar, TIME);
        return jar;
    }

    private void assertTold(String line, Path file, long size) throws IOException {
        assertThat(Files.size(file)).as("the same size").isEqualTo(size);
        assertThat(Files.getLastModifiedTime(file)).as("the same time").isEqualTo(TIME);
        assertThat(FileFact.of(file)).isNotEqualTo(line);
        assertThat(FileFact.holds(line)).isFalse();
    }

    @Test
    void aJarOfTheSameSizeAndTimeWithAnotherConstantIsAnotherJar() throws IOException {
        for (int method : new int[] {ZipEntry.STORED, ZipEntry.DEFLATED}) {
            for (String comment : new String[] {"", "built by x", "c".repeat(60_000)}) {
                Path jar = jar("a.jar", method, comment, "Main.class", "rate 0.1", "B.class", "b");
                String line = FileFact.of(jar);
                assertThat(FileFact.holds(line)).isTrue();

                jar("a.jar", method, comment, "Main.class", "rate 0.2", "B.class", "b");
                assertTold(line, jar, Long.parseLong(line.split(" ")[0]));
            }
        }
    }

    @Test
    void classesThatChangePlacesAndInnerJarsAreSeen() throws IOException {
        Path jar = jar("a.jar", ZipEntry.DEFLATED, "", "A.class", "x", "META-INF/versions/9/A.class", "y");
        String line = FileFact.of(jar);
        jar("a.jar", ZipEntry.DEFLATED, "", "A.class", "y", "META-INF/versions/9/A.class", "x");
        assertTold(line, jar, Long.parseLong(line.split(" ")[0]));

        Path outer = outer("0.1");
        String nested = FileFact.of(outer);
        outer("0.2");
        assertTold(nested, outer, Long.parseLong(nested.split(" ")[0]));
    }

    private Path outer(String constant) throws IOException {
        Path inner = jar("inner.jar", ZipEntry.STORED, "", "A.class", constant);
        String bytes = new String(Files.readAllBytes(inner), StandardCharsets.ISO_8859_1);
        return jar("outer.jar", ZipEntry.STORED, "", "BOOT-INF/lib/inner.jar", bytes);
    }

    @Test
    void aCopyHasTheSameContent() throws IOException {
        Path jar = jar("a.jar", ZipEntry.DEFLATED, "", "A.class", "x");
        Path copy = Files.copy(jar, folder.resolve("copy.jar"));
        assertThat(FileFact.content(copy)).isEqualTo(FileFact.content(jar));
        assertThat(FileFact.of(copy)).isNotEqualTo(FileFact.of(jar));
    }

    @Test
    void aTextIsReadAsAWholeAndALibraryWithItsBuildId() throws IOException {
        Path file = Files.write(folder.resolve("libx.so"), new byte[200_000]);
        Files.setLastModifiedTime(file, TIME);
        String line = FileFact.of(file);
        byte[] other = new byte[200_000];
        other[700] = 1;
        Files.write(file, other);
        Files.setLastModifiedTime(file, TIME);
        assertTold(line, file, 200_000);

        Path text = Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"17.0.15\"\n");
        String before = FileFact.of(text);
        Files.writeString(text, "JAVA_VERSION=\"17.0.16\"\n");
        assertThat(FileFact.holds(before)).isFalse();
    }

    @Test
    void theChecksumIsThatOfTheWholeHeadAndOfTheWholeDirectory() throws IOException {
        byte[] bytes = new byte[200_000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i % 251);
        }
        Path file = Files.write(folder.resolve("libx.so"), bytes);
        assertThat(FileFact.content(file)).isEqualTo("200000 " + checksum(bytes, 0, 65536));

        String[] entries = new String[2000];
        for (int i = 0; i < entries.length; i += 2) {
            entries[i] = "package/Class" + i + ".class";
            entries[i + 1] = "x";
        }
        Path jar = jar("a.jar", ZipEntry.STORED, "", entries);
        byte[] all = Files.readAllBytes(jar);
        int directory = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN).getInt(all.length - 6);
        assertThat(all.length - directory).isGreaterThan(65536);
        assertThat(FileFact.content(jar))
                .isEqualTo(all.length + " " + checksum(all, directory, all.length - directory));
    }

    private static String checksum(byte[] bytes, int from, int length) {
        var checksum = new CRC32();
        checksum.update(bytes, from, length);
        return HexFormat.of().toHexDigits((int) checksum.getValue());
    }

    @Test
    void whatIsThereNowAndWasNotIsToldApart() throws IOException {
        Path file = folder.resolve("a b.jar");
        String absent = FileFact.of(file);
        assertThat(FileFact.holds(absent)).isTrue();
        Files.createDirectory(file);
        String isFolder = FileFact.of(file);
        assertThat(FileFact.holds(absent)).isFalse();
        Files.delete(file);
        Files.createFile(file);
        String empty = FileFact.of(file);
        assertThat(FileFact.holds(isFolder)).isFalse();
        assertThat(FileFact.holds(empty)).isTrue();
        Files.write(file, new byte[] {'P'});
        assertThat(FileFact.holds(empty)).isFalse();
        for (String torn : new String[] {"", "1", "1 2 3", "\0"}) {
            assertThat(FileFact.holds(torn)).isFalse();
        }
    }

    /** A zip file with the longer record at its end, as those beyond 4 GiB or 65,535 entries have it, made by hand. */
    @Test
    void theDirectoryOfALongZipFileIsFound() throws IOException {
        for (byte constant : new byte[] {1, 2}) {
            byte[] directory = {9, 9, 9, constant, 9};
            long at = 5L << 30;
            ByteBuffer tail = ByteBuffer.allocate(directory.length + 56 + 20 + 22)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .put(directory);
            tail.putInt(0x06064b50).putLong(44).putShort((short) 45).putShort((short) 45);
            tail.putInt(0)
                    .putInt(0)
                    .putLong(1)
                    .putLong(1)
                    .putLong(directory.length)
                    .putLong(at);
            tail.putInt(0x07064b50).putInt(0).putLong(at + directory.length).putInt(1);
            tail.putInt(0x06054b50).putInt(0).putShort((short) -1).putShort((short) -1);
            tail.putInt(-1).putInt(-1).putShort((short) 0);
            try (FileChannel file = FileChannel.open(
                    folder.resolve("long-" + constant + ".zip"),
                    StandardOpenOption.CREATE_NEW,
                    StandardOpenOption.SPARSE,
                    StandardOpenOption.WRITE)) {
                file.write(tail.flip(), at);
            }
        }
        assertThat(FileFact.content(folder.resolve("long-1.zip")))
                .isNotEqualTo(FileFact.content(folder.resolve("long-2.zip")));
    }

    @Test
    void aDamagedRecordAtTheEndIsNoReasonToReadPastTheFile() throws IOException {
        Path jar = jar("a.jar", ZipEntry.DEFLATED, "", "A.class", "x");
        byte[] bytes = Files.readAllBytes(jar);
        for (int at = bytes.length - 22; at < bytes.length; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] = -1;
            Files.write(jar, damaged);
            assertThat(FileFact.of(jar)).startsWith(bytes.length + " ");
        }
    }
}
