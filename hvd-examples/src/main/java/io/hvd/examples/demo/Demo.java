package io.hvd.examples.demo;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.examples.ExampleFailure;
import java.util.List;
import java.util.Locale;

/** The lines of a demonstration, and the check that makes a rank's mistake that of all ranks. */
final class Demo {
    private static final int BAD_USAGE = 2;

    private final String name;
    private final HvdContext hvd;

    /** @param name of the example */
    Demo(String name, HvdContext hvd) {
        this.name = name;
        this.hvd = hvd;
    }

    /** Prints a line on rank 0 alone. */
    void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    /** Prints a line of this rank, which the line begins with. */
    void sayOwn(String format, Object... values) {
        System.out.printf(Locale.ROOT, "rank " + hvd.rank() + ": " + format + "%n", values);
    }

    /** Prints a line of this rank, which says what is on its host. */
    void sayWhere(Object what) {
        System.out.printf(
                Locale.ROOT,
                "rank %d of %d on %s: %s%n",
                hvd.rank(),
                hvd.size(),
                hvd.hosts().get(hvd.rank()),
                what);
    }

    /** Prints the lines of all ranks on rank 0, in their order; every rank calls it. */
    void sayAll(String own) {
        for (String line : hvd.allgatherObject(name + ".lines", own, ObjectCodec.utf8())) {
            say("%s", line);
        }
    }

    /** Prints the result line after everything that other ranks print; every rank calls it. */
    void result(String format, Object... values) {
        hvd.barrier();
        say("RESULT example=" + name + " ranks=" + hvd.size() + " " + format, values);
    }

    /**
     * Ends the example on all ranks if one of them has made a mistake; every rank calls it.
     *
     * @param mistake of this rank; empty if it has made none
     */
    void requireNone(String mistake) throws ExampleFailure {
        List<String> mistakes = hvd.allgatherObject(name + ".mistake", mistake, ObjectCodec.utf8());
        for (int rank = 0; rank < mistakes.size(); rank++) {
            if (!mistakes.get(rank).isEmpty()) {
                throw new ExampleFailure(
                        "rank " + rank + " (" + hvd.hosts().get(rank) + "): " + mistakes.get(rank), BAD_USAGE);
            }
        }
    }

    /** Ends the example on all ranks if there are fewer ranks than it needs. */
    void requireRanks(int least, String reason) throws ExampleFailure {
        if (hvd.size() < least) {
            throw new ExampleFailure(
                    "found " + hvd.size() + " rank" + (hvd.size() == 1 ? "" : "s") + ", expected at least " + least
                            + ": " + reason,
                    BAD_USAGE);
        }
    }
}
