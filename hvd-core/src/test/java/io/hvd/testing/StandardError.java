package io.hvd.testing;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** What goes to standard error, where the logging of the tests goes too. */
public final class StandardError {
    private StandardError() {}

    /** Something that may say something. */
    @FunctionalInterface
    public interface Action {
        void run() throws Exception;
    }

    /** Everything that this process has said meanwhile. */
    public static String during(Action action) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }
}
