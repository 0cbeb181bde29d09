package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.data.Dataset;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TextTest {
    @Test
    void eachCharacterIsItsPlaceAmongTheDifferentOnes() {
        Text text = Text.of("banana bread");

        assertThat(text.alphabet()).isEqualTo(" abdenr");
        assertThat(text.places()).startsWith(2, 1, 5, 1, 5, 1, 0);
        assertThat(text.decode(text.places())).isEqualTo("banana bread");
    }

    /** Nothing of the text is lost but what is less than a window, and every window ends with the first of the next. */
    @Test
    void windowsFollowEachOther() throws Exception {
        Text text = Text.of("abcdefghijk");

        assertThat(text.windows(3)).isEqualTo(3);
        assertThat(text.windows(5)).isEqualTo(2);
        assertThat(text.windows(11)).isZero();
        Dataset<int[]> last = text.window(3, 1, 2);
        assertThat(last.size()).isEqualTo(2);
        assertThat(text.decode(last.get(0))).isEqualTo("defg");
        assertThat(text.decode(last.get(1))).isEqualTo("ghij");
    }

    @Test
    void aBatchHasTheCharactersAndThoseThatFollow() {
        CharLayout layout = new CharLayout(3);
        List<ByteBuffer> memory = List.of(ByteBuffer.allocate(24), ByteBuffer.allocate(24));
        memory.forEach(each -> each.order(ByteOrder.nativeOrder()));

        layout.write(new int[] {7, 8, 9, 10}, memory);

        assertThat(numbers(memory.get(0))).containsExactly(7, 8, 9);
        assertThat(numbers(memory.get(1))).containsExactly(8, 9, 10);
        assertThat(layout.fields())
                .extracting(field -> field.shape().elements())
                .containsExactly(3L, 3L);
    }

    private static long[] numbers(ByteBuffer memory) {
        return IntStream.range(0, 3).mapToLong(i -> memory.getLong(8 * i)).toArray();
    }

    @Test
    void differentTextsHaveDifferentChecksums() {
        long one = Text.of("abcabc").checksum();
        assertThat(Text.of("abcabc").checksum()).isEqualTo(one);
        assertThat(Text.of("abcacb").checksum()).isNotEqualTo(one);
        assertThat(Text.of("abdabd").checksum()).isNotEqualTo(one);
    }

    @Test
    void theProgramsOwnTextIsTrueAndDependsOnTheSeed() {
        String text = SumsInWords.of(5_000, 7);

        assertThat(text).hasSizeGreaterThanOrEqualTo(5_000).isEqualTo(SumsInWords.of(5_000, 7));
        assertThat(text).isNotEqualTo(SumsInWords.of(5_000, 8));
        List<String> words =
                IntStream.range(0, 100).mapToObj(SumsInWords::words).toList();
        assertThat(words).doesNotHaveDuplicates().contains("zero", "nineteen", "forty", "ninety-nine");
        Pattern sum = Pattern.compile("([a-z-]+) and ([a-z-]+) are ([a-z-]+)\\.");
        assertThat(text.lines()).hasSizeGreaterThan(100).allSatisfy(line -> {
            Matcher found = sum.matcher(line);
            assertThat(found.matches()).as(line).isTrue();
            assertThat(words.indexOf(found.group(1)) + words.indexOf(found.group(2)))
                    .as(line)
                    .isEqualTo(words.indexOf(found.group(3)));
        });
    }
}
