package io.hvd;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Checks the process sets that a program names at the start: sound in themselves, and the same on all ranks. */
final class StartingSets {
    private StartingSets() {}

    /**
     * All ranks call it together.
     *
     * @return the sets with their members ascending
     */
    static List<List<Integer>> agreed(List<List<Integer>> asked, Backend backend) {
        int size = backend.topology().size();
        // Before anything else: a rank that finds a fault in its own list alone would leave the others waiting.
        requireSame(asked.stream().map(set -> set.stream().sorted().toList()).toList(), backend);
        List<List<Integer>> sets = new ArrayList<>();
        for (int i = 0; i < asked.size(); i++) {
            sets.add(members("process set " + (i + 1), asked.get(i), size));
        }
        for (int i = 0; i < sets.size(); i++) {
            int earlier = sets.indexOf(sets.get(i));
            if (earlier < i || sets.get(i).size() == size) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "process set " + (i + 1) + " of ranks " + sets.get(i) + " is named twice, first as number "
                                + (sets.get(i).size() == size ? 0 : earlier + 1));
            }
        }
        return sets;
    }

    /** The same ranks ascending; refuses ranks that are named twice or do not exist. */
    static List<Integer> members(String what, List<Integer> ranks, int size) {
        List<Integer> sorted = ranks.stream().sorted().toList();
        for (int i = 0; i < sorted.size(); i++) {
            int rank = sorted.get(i);
            if (rank < 0 || rank >= size) {
                throw bad(what, ranks, "rank " + rank + " is not in [0, " + (size - 1) + "]");
            }
            if (i > 0 && sorted.get(i - 1) == rank) {
                throw bad(what, ranks, "rank " + rank + " is named twice");
            }
        }
        if (sorted.isEmpty()) {
            throw bad(what, ranks, "it has no member");
        }
        return sorted;
    }

    private static void requireSame(List<List<Integer>> mine, Backend backend) {
        List<byte[]> all = backend.exchange(mine.toString().getBytes(StandardCharsets.UTF_8));
        Map<String, List<Integer>> ranksByValue = new LinkedHashMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            ranksByValue
                    .computeIfAbsent(new String(all.get(rank), StandardCharsets.UTF_8), sets -> new ArrayList<>())
                    .add(rank);
        }
        if (ranksByValue.size() > 1) {
            StringBuilder text = new StringBuilder();
            ranksByValue.forEach((sets, ranks) -> text.append(text.isEmpty() ? "" : "; ")
                    .append(sets)
                    .append(" on ranks ")
                    .append(ranks));
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS, "the ranks name different process sets at the start: " + text);
        }
    }

    private static HvdException bad(String what, List<Integer> ranks, String why) {
        return new HvdException(ErrorId.BAD_ARGUMENT, what + " of ranks " + ranks + ": " + why);
    }
}
