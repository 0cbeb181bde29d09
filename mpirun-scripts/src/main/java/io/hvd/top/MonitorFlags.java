package io.hvd.top;

import io.hvd.config.HvdProgram;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of {@link HvdMonitor}.
 *
 * @param seconds after which it ends; 0 for never
 * @param read CSV that exists, to make a plot of
 */
record MonitorFlags(
        boolean help,
        long intervalMillis,
        long seconds,
        Optional<Path> csv,
        Optional<Path> plot,
        Optional<Path> read,
        boolean columns,
        boolean cpu,
        String gpus,
        String job) {
    private static final String LEAST_MILLIS = "100";

    private static Options options() {
        return new Options()
                .addOption(valued("interval-ms", "milliseconds between two looks, default 500"))
                .addOption(valued("csv", "file to write the lines into; without it they are printed"))
                .addOption(valued("plot", "file to write a page of HTML with two drawings into, at the end"))
                .addOption(valued("read", "CSV of an earlier run, or of nvidia-smi, for --plot; nothing is watched"))
                .addOption(valued("seconds", "ends after so many seconds"))
                .addOption(plain(null, "noheader", "leaves out the line with the names of the columns"))
                .addOption(plain(null, "cpu", "watches ranks although there are GPUs"))
                .addOption(valued("gpus", "numbers of the GPUs to watch, such as 0,1, as nvidia-smi takes them"))
                .addOption(valued("job", "the job whose ranks to watch, as hvd-top names it; default the first one"))
                .addOption(plain("h", "help", "prints this help"));
    }

    private static Option valued(String name, String meaning) {
        return Option.builder().longOpt(name).hasArg().desc(meaning).get();
    }

    private static Option plain(String letter, String name, String meaning) {
        return Option.builder(letter).longOpt(name).desc(meaning).get();
    }

    static MonitorFlags from(String... args) throws ParseException {
        CommandLine line = new DefaultParser().parse(options(), args);
        if (!line.getArgList().isEmpty()) {
            throw new ParseException(line.getArgList().get(0) + " is not a flag of hvd-monitor");
        }
        MonitorFlags flags = new MonitorFlags(
                line.hasOption("help"),
                number(line, "interval-ms", "500", LEAST_MILLIS),
                number(line, "seconds", "0", "0"),
                path(line, "csv"),
                path(line, "plot"),
                path(line, "read"),
                !line.hasOption("noheader"),
                line.hasOption("cpu"),
                line.getOptionValue("gpus", ""),
                line.getOptionValue("job", ""));
        if (flags.read.isPresent() && flags.plot.isEmpty()) {
            throw new ParseException("--read makes a plot and needs --plot FILE");
        }
        if (!flags.gpus.matches("(\\d+(,\\d+)*)?")) {
            throw new ParseException("--gpus is \"" + flags.gpus + "\", expected numbers with commas between them");
        }
        return flags;
    }

    private static Optional<Path> path(CommandLine line, String name) {
        return Optional.ofNullable(line.getOptionValue(name)).map(Path::of);
    }

    private static long number(CommandLine line, String name, String otherwise, String least) throws ParseException {
        String value = line.getOptionValue(name, otherwise);
        if (!value.matches("\\d{1,9}") || Long.parseLong(value) < Long.parseLong(least)) {
            throw new ParseException(
                    "--" + name + " is \"" + value + "\", expected a whole number of at least " + least);
        }
        return Long.parseLong(value);
    }

    static String usage() {
        StringBuilder text = new StringBuilder("usage: " + HvdProgram.MONITOR.line() + " [flags]\n\n"
                + "Writes load and memory of each GPU, or of each rank on this host, over the time. It ends when the ranks that it\n"
                + "has seen are gone, after --seconds, or when it is interrupted.\n\n");
        for (Option option : options().getOptions()) {
            String letter = option.getOpt() == null ? "    " : "-" + option.getOpt() + ", ";
            text.append(String.format(
                    Locale.ROOT, "  %s--%-12s %s%n", letter, option.getLongOpt(), option.getDescription()));
        }
        return text.toString();
    }
}
