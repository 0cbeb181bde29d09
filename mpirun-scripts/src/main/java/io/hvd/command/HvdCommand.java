package io.hvd.command;

import io.hvd.config.Suggestion;
import io.hvd.doctor.HvdDoctor;
import io.hvd.launch.Horovodrun;
import io.hvd.launch.setup.Setup;
import io.hvd.report.HvdReport;
import io.hvd.top.HvdMonitor;
import io.hvd.top.HvdTop;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Main class of hvd-launch's jar of everything, and of the scripts horovodrun, hvd-doctor, hvd-top, hvd-monitor and hvd-report: hands the
 * words behind the name of a program on to that program. Without such a name it ends with exit code 2.
 */
public final class HvdCommand {

    private static final int USAGE = 2;
    private static final String SLF4J_VERBOSITY = "slf4j.internal.verbosity";

    private final PrintStream out;
    private final PrintStream err;

    HvdCommand(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    @FunctionalInterface
    private interface Main {
        void start(String[] args) throws IOException, InterruptedException;
    }

    /** The programs, each of which ends this process with an exit code of its own. */
    private enum Subcommand {
        RUN("Start N ranks of a program, as in run -np 4 java -jar train.jar. This is horovodrun.", Horovodrun::main),
        DOCTOR(
                "Look for whatever keeps a job from starting or from running well. This is hvd-doctor.",
                HvdDoctor::main),
        TOP("Show what the ranks of this host are doing, once a second. This is hvd-top.", HvdTop::main),
        MONITOR(
                "Write load and memory of GPUs or ranks over the time, and a plot. This is hvd-monitor.",
                HvdMonitor::main),
        REPORT("Make a page of the records of runs. This is hvd-report.", HvdReport::main),
        SETUP("Make mpi.jar for the Open MPI of this machine.", Setup::main);

        private final String meaning;
        private final Main main;

        Subcommand(String meaning, Main main) {
            this.meaning = meaning;
            this.main = main;
        }

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Optional<Subcommand> of(String word) {
            return Arrays.stream(values())
                    .filter(one -> one.word().equals(word))
                    .findFirst();
        }

        static List<String> words() {
            return Arrays.stream(values()).map(Subcommand::word).toList();
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        withoutSlf4jsWords();
        System.exit(new HvdCommand(System.out, System.err).run(args));
    }

    /** These programs log nothing, and so need no provider of slf4j's; it would complain of that. */
    private static void withoutSlf4jsWords() {
        if (System.getProperty(SLF4J_VERBOSITY) == null) {
            System.setProperty(SLF4J_VERBOSITY, "ERROR");
        }
    }

    int run(String... args) throws IOException, InterruptedException {
        CommandLine line = parse(args);
        List<String> words = line.getArgList();
        if (line.hasOption("help")) {
            out.print(usage());
            return 0;
        }
        if (line.hasOption("version")) {
            out.println(version());
            return 0;
        }
        Optional<Subcommand> subcommand = words.stream().findFirst().flatMap(Subcommand::of);
        if (subcommand.isEmpty()) {
            err.print(obstacle(words) + usage());
            return USAGE;
        }
        subcommand.get().main.start(words.stream().skip(1).toArray(String[]::new));
        return 0;
    }

    /** Stops at the first word that is no flag of this program's own. */
    private static CommandLine parse(String... args) {
        try {
            return DefaultParser.builder()
                    .setAllowPartialMatching(false)
                    .setStripLeadingAndTrailingQuotes(false)
                    .get()
                    .parse(options(), args, true);
        } catch (ParseException e) {
            throw new IllegalStateException(e); // none of the flags takes a value
        }
    }

    private static Options options() {
        return new Options()
                .addOption("h", "help", false, "Print this help.")
                .addOption("v", "version", false, "Print the version.");
    }

    private static String obstacle(List<String> words) {
        return words.stream()
                .findFirst()
                .map(word -> "hvd-launch: there is no subcommand " + word
                        + Suggestion.nearest(word, Subcommand.words())
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("")
                        + "\n")
                .orElse("hvd-launch: name a subcommand\n");
    }

    private static String usage() {
        String programs = Arrays.stream(Subcommand.values())
                .map(one -> String.format(Locale.ROOT, "  %-14s %s%n", one.word(), one.meaning))
                .collect(Collectors.joining());
        String flags = options().getOptions().stream()
                .map(flag -> String.format(
                        Locale.ROOT,
                        "  %-14s %s%n",
                        "-" + flag.getOpt() + ", --" + flag.getLongOpt(),
                        flag.getDescription()))
                .collect(Collectors.joining());
        return "usage: java -jar hvd-launch.jar SUBCOMMAND [flags]\n\n" + programs + flags
                + "\nEach subcommand has a --help of its own.\n";
    }

    private static String version() {
        String version = HvdCommand.class.getPackage().getImplementationVersion();
        return version == null ? "unpackaged" : version;
    }
}
