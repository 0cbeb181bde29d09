package io.hvd.contract.explorer;

import io.hvd.contract.program.Ending;
import io.hvd.contract.program.Program;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Leaves out of a program what it does not need to fail, a part of its strands after the other. */
final class Shrinking {
    private final Predicate<Program> fails;
    private final long endNanos;

    /** @param fails runs a program; must not change its mind */
    private Shrinking(Predicate<Program> fails, long endNanos) {
        this.fails = fails;
        this.endNanos = endNanos;
    }

    /** The smallest found within the time; the program itself if that is none smaller. */
    static Program of(Program program, Predicate<Program> fails, long seconds) {
        return new Shrinking(fails, System.nanoTime() + seconds * 1_000_000_000).shrink(program);
    }

    private Program shrink(Program program) {
        Program smallest = program;
        int parts = 2;
        while (parts <= 2 * smallest.strands().size() && !isOver()) {
            Program smaller = smallerBy(smallest, parts);
            if (smaller == null) {
                if (parts >= smallest.strands().size()) {
                    break;
                }
                parts = Math.min(2 * parts, smallest.strands().size());
            } else {
                smallest = smaller;
                parts = Math.max(2, parts - 1);
            }
        }
        return smallest;
    }

    /** Without one of so many parts of its strands; null if it needs all of them. */
    private Program smallerBy(Program program, int parts) {
        List<Integer> strands = new ArrayList<>(program.strands());
        int size = Math.max(1, strands.size() / parts);
        // The last ones first: what comes after a failure is hardly ever its reason.
        for (int end = strands.size(); end > 0 && !isOver(); end -= size) {
            Set<Integer> gone = new HashSet<>(strands.subList(Math.max(0, end - size), end));
            Program candidate = program.without(gone);
            if (!candidate.strands().isEmpty()
                    && Ending.isReached(candidate.ops(), candidate.scripts())
                    && fails.test(candidate)) {
                return candidate;
            }
        }
        return null;
    }

    private boolean isOver() {
        return System.nanoTime() > endNanos;
    }
}
