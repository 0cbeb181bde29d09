package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextFileTest {
    @TempDir
    Path folder;

    private Path file(byte... bytes) throws Exception {
        return Files.write(folder.resolve("a.txt"), bytes);
    }

    private Path file(String text) throws Exception {
        return file(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void aByteOrderMarkInFrontGoesAndNothingElse() throws Exception {
        String text = " a\u00a0b\u200b \r\n\ufeffc\t\r\n\n e\u0301 ";

        assertThat(TextFile.read(file("\ufeff" + text))).isEqualTo(text);
        assertThat(TextFile.read(file(text))).isEqualTo(text);
        assertThat(TextFile.read(file(""))).isEmpty();
        assertThat(TextFile.read(file("\ufeff"))).isEmpty();
    }

    @Test
    void linesEndInAnyOfTheThreeWays() throws Exception {
        assertThat(TextFile.lines(file("\ufeffa\r\nb\nc\rd"))).containsExactly("a", "b", "c", "d");
    }

    @Test
    void aReaderBeginsBehindTheMark() throws Exception {
        for (String text : new String[] {"\ufeff7 3\nx", "7 3\nx", "7 3"}) {
            try (BufferedReader reader = TextFile.open(file(text))) {
                assertThat(reader.readLine()).isEqualTo("7 3");
            }
        }
        try (BufferedReader reader = TextFile.open(file(""))) {
            assertThat(reader.readLine()).isNull();
        }
        try (BufferedReader reader = TextFile.open(file("\u00e4\u00f6"))) {
            assertThat(reader.readLine()).isEqualTo("\u00e4\u00f6");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32"})
    void aWideTextIsNamedSo(String encoding) throws Exception {
        Path file = file("node1 slots=2\n".getBytes(Charset.forName(encoding)));

        assertThatThrownBy(() -> TextFile.read(file))
                .isInstanceOf(FileSystemException.class)
                .hasMessageContainingAll(file.toString(), "UTF-16", "expected UTF-8", "iconv");
        assertThatThrownBy(() -> TextFile.open(file)).hasMessageContainingAll(file.toString(), "UTF-16");
    }

    @Test
    void aByteOfAnOlderEncodingIsNamedWithItsLine() throws Exception {
        Path file = file("one\ntwo\ncaf\u00e9\n".getBytes(StandardCharsets.ISO_8859_1));

        assertThatThrownBy(() -> TextFile.read(file))
                .isInstanceOf(FileSystemException.class)
                .hasMessageContainingAll(file.toString(), "0xe9", "line 3", "ISO-8859-1", "iconv");
    }

    @Test
    void aCharacterThatIsCutAtTheEndIsNoText() throws Exception {
        Path file = file((byte) 'a', (byte) 0xc3);

        assertThatThrownBy(() -> TextFile.read(file)).hasMessageContainingAll("0xc3", "line 1");
    }

    @Test
    void whatCannotBeSeenGoesFromAWord() {
        for (String unseen : new String[] {
            "\ufeff",
            "\u200b",
            " ",
            "\u00a0",
            "\t",
            "\r",
            "\u2003",
            "\u3000",
            "\u2060",
            "\u200e",
            "\u0000",
            "\u200d",
            "\u202f",
            "\u3164",
            "\u2800",
            "\ufe0f",
            "\udb40\udc41",
            "\u0085"
        }) {
            assertThat(TextFile.clean(unseen + "spam" + unseen))
                    .as(TextFile.shown(unseen))
                    .isEqualTo("spam");
            assertThat(TextFile.clean(unseen)).isEmpty();
        }
        assertThat(TextFile.clean("sp\u200ba\ufeffm\u00a0x")).isEqualTo("spam x");
    }

    @Test
    void whatMeansSomethingStays() {
        String persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645";
        assertThat(TextFile.clean(persian)).isEqualTo(persian);
        assertThat(TextFile.clean("a  b")).isEqualTo("a  b");
        assertThat(TextFile.clean("caf\u0065\u0301")).isEqualTo("caf\u00e9");
    }

    @Test
    @Timeout(20)
    void manyBlanksWithinALineCostNoMoreThanItsLength() {
        String line = "a" + " ".repeat(2_000_000) + "b";

        assertThat(TextFile.clean(line)).isEqualTo(line);
    }

    @Test
    void aMessageShowsWhatCannotBeSeen() {
        assertThat(TextFile.shown("a b\u00a0c\u200b\t")).isEqualTo("a b\\u00a0c\\u200b\\u0009");
        assertThat(TextFile.shown("caf\u00e9")).isEqualTo("caf\u00e9");
    }
}
