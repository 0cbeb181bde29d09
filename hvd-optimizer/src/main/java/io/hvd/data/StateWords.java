package io.hvd.data;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads the words that {@link Stateful#saveState} gave.
 *
 * @param of what the state is of, for messages
 */
public record StateWords(String of, Map<String, String> words) {
    /** The key of a part's kind, such as {@code EarlyStop}, by which the state of another kind is refused. */
    public static final String KIND = "kind";

    /**
     * Requires that the state is of this kind of part. States of hvd before there were kinds are known by their keys.
     *
     * @param olderKeys those of such states
     * @throws HvdException if it is of another kind
     */
    public void requireKind(String kind, Set<String> olderKeys) {
        if (words.containsKey(KIND)) {
            require(KIND, kind);
        } else if (!words.keySet().equals(olderKeys)) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state of " + of + " does not fit: it names no kind, and has " + new TreeSet<>(words.keySet())
                            + ", expected " + new TreeSet<>(olderKeys));
        }
    }

    /** @throws HvdException if the state has another value, or none */
    public void require(String key, String expected) {
        if (!expected.equals(words.get(key))) {
            throw mismatch(key, expected);
        }
    }

    /** A whole number from 0 to the largest one. @throws HvdException if the state has none */
    public int whole(String key, int largest) {
        try {
            int number = Integer.parseInt(words.getOrDefault(key, ""));
            if (number >= 0 && number <= largest) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw mismatch(key, "a whole number from 0 to " + largest);
    }

    /** A whole number that may be negative, such as a seed. @throws HvdException if the state has none */
    public long wholeOf64Bits(String key) {
        try {
            return Long.parseLong(words.getOrDefault(key, ""));
        } catch (NumberFormatException e) {
            throw mismatch(key, "a whole number of 64 bits");
        }
    }

    /** Any number, NaN included. @throws HvdException if the state has none */
    public double number(String key) {
        try {
            return Double.parseDouble(words.getOrDefault(key, ""));
        } catch (NumberFormatException e) {
            throw mismatch(key, "a number");
        }
    }

    private HvdException mismatch(String key, String expected) {
        String found = words.get(key);
        return new HvdException(
                ErrorId.STATE_MISMATCH,
                "the state of " + of + " does not fit: its \"" + key + "\" is "
                        + (found == null ? "missing" : "\"" + found + "\"") + ", expected " + expected);
    }
}
