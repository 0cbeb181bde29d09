package io.hvd.examples;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** What train.jar makes of a command line without a launcher, in this JVM; a JVM for each line would cost most of a second. */
public record TrainHere(int exitCode, String output) {
    /** Runs train.jar's program; nothing else may print meanwhile. */
    public static TrainHere run(String... flags) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(both);
            System.setErr(both);
            int exitCode = Train.run(Launcher.of(Map.of()), flags);
            return new TrainHere(exitCode, printed.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }
}
