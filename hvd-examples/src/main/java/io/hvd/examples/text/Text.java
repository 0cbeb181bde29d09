package io.hvd.examples.text;

import io.hvd.data.Dataset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * A text as numbers: each character stands for its place among the different characters of the text.
 *
 * @param alphabet the different characters, sorted
 * @param places the place of each character of the text
 */
record Text(String alphabet, int[] places) {
    static Text of(String text) {
        String alphabet = text.chars()
                .sorted()
                .distinct()
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        return new Text(alphabet, text.chars().map(alphabet::indexOf).toArray());
    }

    int length() {
        return places.length;
    }

    /** The number of windows that do not overlap, each with one character more than it has places, its last answer. */
    int windows(int width) {
        return Math.max(0, (length() - 1) / width);
    }

    /** Some of the windows; a sample is the places of {@code width + 1} characters. */
    Dataset<int[]> window(int width, int first, int count) {
        return new Dataset<>() {
            @Override
            public int size() {
                return count;
            }

            @Override
            public int[] get(int index) {
                int from = (first + index) * width;
                return Arrays.copyOfRange(places, from, from + width + 1);
            }
        };
    }

    /** A checksum by which ranks compare their texts. */
    long checksum() {
        CRC32 sum = new CRC32();
        sum.update(alphabet.getBytes(StandardCharsets.UTF_8));
        for (int place : places) {
            sum.update(place);
            sum.update(place >> 8);
        }
        return sum.getValue();
    }

    String decode(int[] some) {
        StringBuilder text = new StringBuilder();
        for (int place : some) {
            text.append(alphabet.charAt(place));
        }
        return text.toString();
    }
}
