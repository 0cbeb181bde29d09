package io.hvd.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds the known word that a mistyped one most likely meant. */
public final class Suggestion {

    private static final int TOO_SHORT_TO_MISTYPE = 3;

    private Suggestion() {}

    /** A word that this one begins, else the nearest by edit distance if no more than about a third of the letters differ. */
    public static Optional<String> nearest(String word, Collection<String> known) {
        int limit = word.length() <= TOO_SHORT_TO_MISTYPE ? 0 : Math.max(2, word.length() / 3);
        return known.stream()
                .filter(candidate -> candidate.startsWith(word) || distance(word, candidate) <= limit)
                .min(Comparator.<String, Boolean>comparing(candidate -> !candidate.startsWith(word))
                        .thenComparingInt(candidate -> distance(word, candidate))
                        .thenComparing(Comparator.naturalOrder()));
    }

    /** Levenshtein's distance: letters to insert, remove or replace. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
