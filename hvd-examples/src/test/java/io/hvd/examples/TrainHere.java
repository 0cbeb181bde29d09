package io.hvd.examples;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;

/** Runs a command line of train.jar without a launcher, in this JVM; a JVM for each line would cost most of a second. */
public record TrainHere(int exitCode, String output) {
    /**
     * Lets an example read its flags as for a run, which it does not begin.
     *
     * @param words name and flags; none stand for the first example
     * @throws ParseException if it does not know a flag, or refuses a value
     */
    public static void check(List<String> words) throws ParseException {
        boolean named = !words.isEmpty() && !words.get(0).startsWith("-");
        Example example = Train.examples().stream()
                .filter(each -> !named || each.name().equals(words.get(0)))
                .findFirst()
                .orElseThrow(() -> new ParseException("there is no example " + words.get(0)));
        String[] flags = words.stream().skip(named ? 1 : 0).toArray(String[]::new);
        CommandLine line = new DefaultParser().parse(Train.flags(example), flags);
        if (!line.getArgList().isEmpty()) {
            throw new ParseException("unexpected " + line.getArgList());
        }
        example.program(line);
    }

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
