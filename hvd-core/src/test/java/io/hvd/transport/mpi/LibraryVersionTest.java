package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LibraryVersionTest {
    @TempDir
    private Path folder;

    private Path library(String content) throws IOException {
        Path file = folder.resolve("libmpi.so.40");
        return Files.write(file, content.getBytes(StandardCharsets.ISO_8859_1));
    }

    @ParameterizedTest
    @CsvSource({"v4.1.4, 4.1.4", "v5.0.7, 5.0.7", "v5.0.0rc12, 5.0.0rc12", "v10.20.30, 10.20.30"})
    void readsTheReleaseOutOfTheLibrarysStrings(String text, String version) throws IOException {
        String noise = "\u007fELF\0\u00ff\u00fe127.0.0.1\0v4.1\0v1.2.3.4\0xv9.9.9\0";
        assertThat(LibraryVersion.read(library(noise + "\0" + text + "\0tail"))).contains(version);
    }

    @Test
    void aBareNumberIsNoRelease() throws IOException {
        assertThat(LibraryVersion.read(library("\0" + "4.1.4\0" + "10.0.0.1\0version v4.1.4 of\0")))
                .isEmpty();
    }

    @Test
    void aFileThatIsNotThereOrEmptyHasNoVersion() throws IOException {
        assertThat(LibraryVersion.read(folder.resolve("none.so"))).isEmpty();
        assertThat(LibraryVersion.read(library(""))).isEmpty();
    }

    @Test
    void findsTheReleaseInALargeLibrary() throws IOException {
        String noise = "\0abc v1".repeat(500_000);
        assertThat(LibraryVersion.read(library(noise + "\0v4.1.6\0" + noise))).contains("4.1.6");
    }

    /** A library of 64 bits whose only section of constants has this content, behind code that has other. */
    private Path elf(String code, String constants) throws IOException {
        byte[] first = code.getBytes(StandardCharsets.ISO_8859_1);
        byte[] second = constants.getBytes(StandardCharsets.ISO_8859_1);
        int table = 64 + first.length + second.length;
        ByteBuffer file = ByteBuffer.allocate(table + 2 * 64).order(ByteOrder.LITTLE_ENDIAN);
        file.put(new byte[] {0x7f, 'E', 'L', 'F', 2, 1});
        file.putLong(40, table).putShort(58, (short) 64).putShort(60, (short) 2);
        file.position(64).put(first).put(second);
        section(file, table, 6, 64, first.length);
        section(file, table + 64, 2, 64 + first.length, second.length);
        return Files.write(folder.resolve("libmpi.so.40"), file.array());
    }

    private static void section(ByteBuffer file, int at, long flags, int begin, int bytes) {
        file.putInt(at + 4, 1).putLong(at + 8, flags).putLong(at + 24, begin).putLong(at + 32, bytes);
    }

    @Test
    void theConstantsOfALibraryCountBeforeItsCode() throws IOException {
        assertThat(LibraryVersion.read(elf("\0v9.9.9\0", "\0v4.1.4\0"))).contains("4.1.4");
    }

    @Test
    void whereTheConstantsHaveNoneTheRestIsSearched() throws IOException {
        assertThat(LibraryVersion.read(elf("\0v4.1.5\0", "\0v4.1\0"))).contains("4.1.5");
    }

    @Test
    void aTableOfSectionsThatIsDamagedDoesNoHarm() throws IOException {
        Path library = elf("\0v4.1.5\0", "\0v4.1\0");
        byte[] good = Files.readAllBytes(library);
        for (int at = 0; at < good.length; at++) {
            byte[] bad = good.clone();
            bad[at] = (byte) 0xff;
            Files.write(library, bad);
            boolean inTheText = at >= 64 && at < 64 + 8;

            assertThat(LibraryVersion.read(library))
                    .as("byte " + at)
                    .isEqualTo(inTheText ? Optional.empty() : Optional.of("4.1.5"));
        }
    }
}
