package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Checks the process sets that a program names at the start: sound in themselves, and the same on all ranks. */
final class InitialProcessSets {
    private InitialProcessSets() {}

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

    /** Sorts the ranks in ascending order; refuses ranks that are named twice or do not exist. */
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
        List<List<String>> all = backend.exchange(text(mine).getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8).lines().toList())
                .toList();
        requireSame("number of process sets", all, List::size);
        for (int i = 0; i < mine.size(); i++) {
            int index = i;
            requireSame("process set " + (index + 1), all, sets -> sets.get(index));
        }
    }

    /** One line for each set. */
    private static String text(List<List<Integer>> sets) {
        return sets.stream().map(List::toString).collect(Collectors.joining("\n"));
    }

    private static void requireSame(String what, List<List<String>> byRank, Function<List<String>, Object> value) {
        Map<Object, List<Integer>> ranksByValue = new LinkedHashMap<>();
        for (int rank = 0; rank < byRank.size(); rank++) {
            ranksByValue
                    .computeIfAbsent(value.apply(byRank.get(rank)), found -> new ArrayList<>())
                    .add(rank);
        }
        if (ranksByValue.size() > 1) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the ranks name different process sets at the start: " + what + ": "
                            + ranksByValue.entrySet().stream()
                                    .map(found -> found.getKey() + " on ranks " + found.getValue())
                                    .collect(Collectors.joining("; ")));
        }
    }

    private static HvdException bad(String what, List<Integer> ranks, String why) {
        return new HvdException(ErrorId.BAD_ARGUMENT, what + " of ranks " + ranks + ": " + why);
    }
}
