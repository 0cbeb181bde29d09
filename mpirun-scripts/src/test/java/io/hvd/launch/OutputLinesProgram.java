package io.hvd.launch;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.util.Locale;

/** Prints lines in pieces on every rank at once; the last rank then leaves half a line and ends the JVM. */
public final class OutputLinesProgram {
    private static final int LINES = 50;

    private OutputLinesProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            for (int line = 0; line < LINES; line++) {
                hvd.barrier();
                System.out.printf(Locale.ROOT, "out %d of %d line %d.%n", hvd.rank(), hvd.size(), line);
                System.err.printf(Locale.ROOT, "err %d of %d line %d.%n", hvd.rank(), hvd.size(), line);
            }
            if (args.length > 0 && hvd.rank() == hvd.size() - 1) {
                System.out.print("half a line");
                if (args[0].equals("exit")) {
                    System.exit(3);
                }
                throw new IllegalStateException("on purpose");
            }
            hvd.barrier();
        }
    }
}
