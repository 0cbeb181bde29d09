package io.hvd.backend.hybrid;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Arranges the members of a process set in rows: one row for each process that has members, in the order of the processes.
 * Members are numbered within the set, and the numbers of a row follow each other.
 *
 * @param rows global ranks of the members, by row
 * @param row this process's
 */
record RowLayout(List<List<Integer>> rows, int row) {
    /** @param members global ranks, ascending; at least one of them is of this process */
    static RowLayout of(List<Integer> members, Grid grid) {
        Map<Integer, List<Integer>> byProcess = new TreeMap<>();
        members.forEach(rank -> byProcess
                .computeIfAbsent(grid.processOf(rank), process -> new ArrayList<>())
                .add(rank));
        return new RowLayout(
                List.copyOf(byProcess.values()), List.copyOf(byProcess.keySet()).indexOf(grid.process()));
    }

    /** The members in this process. */
    List<Integer> here() {
        return rows.get(row);
    }

    /** The first member of each row, which acts for the row. */
    List<Integer> leaders() {
        return rows.stream().map(members -> members.get(0)).toList();
    }

    /** The number within the set of a row's first member. */
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

    /** The global rank of a member. */
    int rankOf(int member) {
        int of = rowOf(member);
        return rows.get(of).get(member - first(of));
    }

    /** The sum over the members of each row. */
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
