package io.hvd.contract.program;

import java.util.Arrays;
import java.util.Collection;
import java.util.Locale;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * All that a program follows from, beside the number of ranks.
 *
 * @param left strands that were left out, to see whether it fails without them too
 */
public record ProgramId(Pace pace, long seed, Set<Integer> left) {
    /** This many programs, one seed after the other, have the same settings, since a job under mpirun keeps its own. */
    public static final int BLOCK = 8;

    /** How long the ranks compute. */
    public enum Pace {
        /** For milliseconds. */
        QUICK,
        /** One of them now and then for seconds. */
        SLOW
    }

    public ProgramId {
        left = new TreeSet<>(left);
    }

    public static ProgramId of(Pace pace, long seed) {
        return new ProgramId(pace, seed, Set.of());
    }

    /** Reads the words of {@link #toString}. */
    public static ProgramId of(String text) {
        String[] words = text.split(":");
        Set<Integer> left = words.length < 3
                ? Set.of()
                : Arrays.stream(words[2].split(",")).flatMap(ProgramId::strands).collect(Collectors.toSet());
        return new ProgramId(Pace.valueOf(words[0].toUpperCase(Locale.ROOT)), Long.parseLong(words[1]), left);
    }

    ProgramId without(Collection<Integer> more) {
        Set<Integer> all = new TreeSet<>(left);
        all.addAll(more);
        return new ProgramId(pace, seed, all);
    }

    long block() {
        return Math.floorDiv(seed, BLOCK);
    }

    public static long firstOfBlock(long block) {
        return block * BLOCK;
    }

    @Override
    public String toString() {
        String text = pace.toString().toLowerCase(Locale.ROOT) + ":" + seed;
        return left.isEmpty() ? text : text + ":" + ranges();
    }

    /** Such as 0-3,5. */
    private String ranges() {
        StringJoiner ranges = new StringJoiner(",");
        for (int first : left) {
            if (!left.contains(first - 1)) {
                int last = first;
                while (left.contains(last + 1)) {
                    last++;
                }
                ranges.add(first == last ? "" + first : first + "-" + last);
            }
        }
        return ranges.toString();
    }

    private static Stream<Integer> strands(String range) {
        String[] ends = range.split("-");
        return IntStream.rangeClosed(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]))
                .boxed();
    }
}
