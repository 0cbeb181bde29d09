package io.hvd.train.checkpoint;

import io.hvd.data.StateWords;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A checkpoint's description of itself, beside its tensors: the words of its header.
 *
 * @param step steps of the optimizer that are done, over all runs
 * @param epoch the epoch to go on with
 * @param worldSize the number of ranks that have trained
 * @param others the other words: {@code config.*}, {@code version.*}, and the states by the names of their parts
 */
public record Manifest(long step, int epoch, int worldSize, SortedMap<String, String> others) {
    /** The form of the words; a reader refuses one that it does not know. */
    static final String FORMAT = "1";

    static final String CONFIG = "config.";
    static final String VERSION = "version.";

    /** Checksums, which the file's reader has compared. */
    private static final String SUMS = "crc32c.";

    /** The program whose tensors these are, without which Hugging Face's transformers refuses a file. */
    static final String LIBRARY = "format";

    private static final String MARK = "manifest";
    private static final String STEP = "step";
    private static final String EPOCH = "epoch";
    private static final String WORLD_SIZE = "world_size";

    public Manifest {
        others = Collections.unmodifiableSortedMap(new TreeMap<>(others));
    }

    /** The words as they stand in the file. */
    Map<String, String> words() {
        Map<String, String> words = new TreeMap<>(others);
        words.put(MARK, FORMAT);
        words.put(STEP, String.valueOf(step));
        words.put(EPOCH, String.valueOf(epoch));
        words.put(WORLD_SIZE, String.valueOf(worldSize));
        return words;
    }

    /** For the other ranks: a line for each word, with a tab behind its key. */
    String encode() {
        return words().entrySet().stream()
                .map(word -> word.getKey() + "\t" + word.getValue())
                .collect(Collectors.joining("\n"));
    }

    static Manifest decode(List<String> lines) {
        Map<String, String> words = new TreeMap<>();
        lines.stream().map(line -> line.split("\t", 2)).forEach(word -> words.put(word[0], word[1]));
        return of(words);
    }

    /** @throws HvdException if the words are not those of a checkpoint of a training; the message names the field */
    static Manifest of(Map<String, String> words) {
        StateWords read = new StateWords("a training in a checkpoint", words);
        read.require(MARK, FORMAT);
        SortedMap<String, String> others = new TreeMap<>(words);
        others.keySet().removeAll(List.of(LIBRARY, MARK, STEP, EPOCH, WORLD_SIZE));
        others.entrySet()
                .removeIf(word -> word.getKey().startsWith(SUMS)
                        || word.getKey().startsWith(ResumableParts.OPTIMIZER)
                        || !isLine(word.getKey() + word.getValue()));
        return new Manifest(
                step(words.getOrDefault(STEP, "")),
                read.whole(EPOCH, Integer.MAX_VALUE),
                read.whole(WORLD_SIZE, Integer.MAX_VALUE),
                others);
    }

    /** Others do not travel to the other ranks, and are none of hvd's. */
    private static boolean isLine(String text) {
        return text.chars().noneMatch(Character::isISOControl);
    }

    private static long step(String word) {
        if (!word.matches("[0-9]{1,18}")) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH, "its \"" + STEP + "\" is \"" + word + "\", expected a whole number");
        }
        return Long.parseLong(word);
    }

    /** The words of one part, without its name in front. */
    public Map<String, String> part(String name) {
        Map<String, String> part = new TreeMap<>();
        String prefix = name + ".";
        others.forEach((key, word) -> {
            if (key.startsWith(prefix)) {
                part.put(key.substring(prefix.length()), word);
            }
        });
        return part;
    }
}
