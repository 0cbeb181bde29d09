package io.hvd.backend.hybrid;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The members of a process set, row by row: a row for each process that has some, in the order of the processes. Within
 * the set a member goes by its number, so that a row is a run of numbers.
 *
 * @param rows global ranks of the members, by row
 * @param row this process's
 */
record Seating(List<List<Integer>> rows, int row) {
    /** @param members global ranks, ascending; at least one of them is of this process */
    static Seating of(List<Integer> members, Grid grid) {
        Map<Integer, List<Integer>> byProcess = new TreeMap<>();
        members.forEach(rank -> byProcess
                .computeIfAbsent(grid.processOf(rank), process -> new ArrayList<>())
                .add(rank));
        return new Seating(
                List.copyOf(byProcess.values()), List.copyOf(byProcess.keySet()).indexOf(grid.process()));
    }

    /** Members of this process. */
    List<Integer> here() {
        return rows.get(row);
    }

    /** The first member of each row, who speaks for it. */
    List<Integer> leaders() {
        return rows.stream().map(members -> members.get(0)).toList();
    }

    /** Number within the set of a row's first member. */
    int first(int of) {
        return rows.subList(0, of).stream().mapToInt(List::size).sum();
    }

    int length(int of) {
        return rows.get(of).size();
    }

    int rowOf(int member) {
        int found = 0;
        while (member >= first(found) + length(found)) {
            found++;
        }
        return found;
    }

    /** Global rank of a member. */
    int rankOf(int member) {
        int of = rowOf(member);
        return rows.get(of).get(member - first(of));
    }

    /** What the members of each row have together. */
    long[] sums(long[] byMember) {
        long[] sums = new long[rows.size()];
        for (int of = 0; of < sums.length; of++) {
            sums[of] = sum(byMember, first(of), first(of) + length(of));
        }
        return sums;
    }

    static long sum(long[] numbers, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += numbers[i];
        }
        return sum;
    }
}
