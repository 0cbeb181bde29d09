package io.hvd.examples.text;

import io.hvd.config.Numerals;
import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import org.apache.commons.cli.ParseException;

/**
 * Vectors of words in word2vec's text format: a first line with the numbers of words and of dimensions, then a line per word with
 * its dimensions, all between blanks.
 *
 * @param vectors of the words that were asked for and found; of words that look alike, the first one's
 */
record WordVectors(int dimensions, Map<String, float[]> vectors) {
    /** @throws ParseException that names the file and the line that is wrong */
    static WordVectors of(Path file, List<String> wanted) throws ParseException {
        String flag = "--vectors " + file;
        try (BufferedReader lines = TextFile.open(file)) {
            return read(flag, file, lines, wanted);
        } catch (CharacterCodingException e) {
            throw new ParseException(flag + " is not a text in UTF-8: " + e + RegularFile.inWords(file));
        } catch (IOException e) {
            throw new ParseException(flag + " cannot be read: " + e);
        }
    }

    private static WordVectors read(String flag, Path file, BufferedReader lines, List<String> wanted)
            throws IOException, ParseException {
        String header = TextFile.clean(String.valueOf(lines.readLine()));
        if (!header.matches("[1-9][0-9]{0,8} +[1-9][0-9]{0,5}")) {
            throw new ParseException(flag + ", line 1: found \"" + header
                    + "\", expected the numbers of words and of dimensions" + RegularFile.inWords(file));
        }
        long words = Long.parseLong(header.split(" +")[0]);
        int dimensions = Integer.parseInt(header.split(" +")[1]);
        Map<String, float[]> all = new HashMap<>();
        wanted.forEach(word -> all.put(word, null));
        long number = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = parts(line);
            number++;
            if (parts.length != dimensions + 1) {
                throw new ParseException(flag + ", line " + (number + 1) + ": found " + (parts.length - 1)
                        + " numbers behind the word \"" + TextFile.shown(parts[0]) + "\", expected " + dimensions);
            }
            String word = TextFile.clean(parts[0]);
            if (all.containsKey(word) && all.get(word) == null) {
                all.put(word, vector(flag, number + 1, parts));
            }
        }
        if (number != words) {
            throw new ParseException(
                    flag + " has vectors of " + number + " words, expected " + words + " by its first line");
        }
        all.values().removeIf(vector -> vector == null);
        return new WordVectors(dimensions, all);
    }

    /** Blanks of other kinds than these may be words of a file. */
    private static String[] parts(String line) {
        StringTokenizer parts = new StringTokenizer(line, " \t\r");
        String[] all = new String[Math.max(1, parts.countTokens())];
        all[0] = "";
        for (int i = 0; parts.hasMoreTokens(); i++) {
            all[i] = parts.nextToken();
        }
        return all;
    }

    private static float[] vector(String flag, long line, String[] parts) throws ParseException {
        float[] vector = new float[parts.length - 1];
        for (int i = 0; i < vector.length; i++) {
            try {
                vector[i] = (float) Numerals.decimal(parts[i + 1]);
            } catch (NumberFormatException e) {
                throw new ParseException(flag + ", line " + line + ": found \"" + TextFile.shown(parts[i + 1])
                        + "\", expected a number");
            }
        }
        return vector;
    }

    long checksum() {
        return vectors.entrySet().stream()
                .mapToLong(entry -> entry.getKey().hashCode() * 31L + Arrays.hashCode(entry.getValue()))
                .sum();
    }
}
