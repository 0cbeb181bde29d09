package io.hvd.transport.nccl;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Tells which ranks are threads of one process, and which of them have to meet before they launch NCCL's kernels.
 *
 * @param homes the lowest rank of the same process, by rank
 */
record RankProcesses(List<Integer> homes) {
    RankProcesses {
        homes = List.copyOf(homes);
    }

    static RankProcesses of(List<NcclFacts> all) {
        List<Integer> homes = new ArrayList<>();
        for (NcclFacts facts : all) {
            homes.add(IntStream.range(0, all.size())
                    .filter(rank -> isSame(all.get(rank), facts))
                    .findFirst()
                    .orElseThrow());
        }
        return new RankProcesses(homes);
    }

    private static boolean isSame(NcclFacts one, NcclFacts other) {
        return one.machine().equals(other.machine()) && one.process().equals(other.process());
    }

    /** The ranks of a rank's process, this rank included. */
    private List<Integer> neighbours(int rank) {
        return IntStream.range(0, homes.size())
                .filter(other -> homes.get(other).equals(homes.get(rank)))
                .boxed()
                .toList();
    }

    /** True if other ranks are threads of the same process. */
    boolean isShared(int rank) {
        return neighbours(rank).size() > 1;
    }

    /**
     * The ranks that meet before a rank launches a collective of a set; none if it need not meet anybody.
     *
     * <p>Where the set has all ranks of each of its processes, those of one process meet. Then none of them launches
     * before all of them have prepared, and processes that have other ranks in other sets have no part in this. Where
     * the set has a part of a process, all members meet: otherwise one process may launch the kernel of a row and wait
     * to prepare a column, while another has launched the column and waits to prepare the row.
     *
     * @param members the ranks of the set, in its order
     */
    List<Integer> meeting(int rank, List<Integer> members) {
        if (members.stream().noneMatch(this::isShared)) {
            return List.of();
        }
        boolean whole = members.stream().allMatch(member -> members.containsAll(neighbours(member)));
        List<Integer> meeting = whole
                ? members.stream()
                        .filter(member -> homes.get(member).equals(homes.get(rank)))
                        .toList()
                : members;
        return meeting.size() < 2 ? List.of() : List.copyOf(meeting);
    }
}
