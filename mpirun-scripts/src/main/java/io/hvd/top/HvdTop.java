package io.hvd.top;

import io.hvd.config.HvdProgram;
import io.hvd.launch.process.Terminal;
import io.hvd.top.OpenPages.Sighting;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Shows what the ranks of this host are doing, once a second, until it is interrupted. Ends with 2 for a command line that
 * cannot be understood.
 */
public final class HvdTop {
    private static final int USAGE = 2;
    private static final long PERIOD_MILLIS = 1_000;
    private static final long SHORT_MILLIS = 500;
    /** Moves to the first place of the screen and deletes everything. */
    private static final String CLEAR = "\033[H\033[2J";

    private final OpenPages pages;
    private final boolean toTerminal;
    private final PrintStream out;
    private final PrintStream err;

    HvdTop(OpenPages pages, boolean toTerminal, PrintStream out, PrintStream err) {
        this.pages = pages;
        this.toTerminal = toTerminal;
        this.out = out;
        this.err = err;
    }

    public static void main(String[] args) throws InterruptedException {
        var pages = new OpenPages(Path.of("/proc"));
        System.exit(new HvdTop(pages, Terminal.isOutput(), System.out, System.err).run(args));
    }

    int run(String... args) throws InterruptedException {
        CommandLine line;
        try {
            line = new DefaultParser().parse(options(), args);
        } catch (ParseException e) {
            return refuse(e.getMessage());
        }
        if (!line.getArgList().isEmpty()) {
            return refuse(line.getArgList().get(0) + " is not a flag of hvd-top");
        }
        if (line.hasOption("help")) {
            out.print(help());
        } else if (line.hasOption("json") || line.hasOption("once") || !toTerminal) {
            once(line.hasOption("json"));
        } else {
            live();
        }
        return 0;
    }

    private int refuse(String why) {
        err.println("hvd-top: " + why + "; " + HvdProgram.TOP.line() + " --help lists the flags");
        return USAGE;
    }

    private void once(boolean json) throws InterruptedException {
        List<Sighting> earlier = pages.ranks();
        Thread.sleep(SHORT_MILLIS);
        JobSnapshot now = JobSnapshot.of(pages.ranks(), earlier, System.nanoTime());
        if (json) {
            out.println(now.json());
        } else {
            Screen.lines(now).forEach(out::println);
        }
    }

    private void live() throws InterruptedException {
        List<Sighting> earlier = pages.ranks();
        while (!out.checkError()) {
            Thread.sleep(PERIOD_MILLIS);
            List<Sighting> now = pages.ranks();
            out.print(CLEAR + String.join("\n", Screen.lines(JobSnapshot.of(now, earlier, System.nanoTime()))) + "\n");
            earlier = now;
        }
    }

    private static Options options() {
        return new Options()
                .addOption(plain(null, "once", "Print one look and end, as without a terminal."))
                .addOption(plain(null, "json", "Print one look as one JSON object and end."))
                .addOption(plain("h", "help", "Print this help."));
    }

    private static Option plain(String letter, String name, String meaning) {
        return Option.builder(letter).longOpt(name).desc(meaning).get();
    }

    private static String help() {
        StringBuilder text = new StringBuilder(
                "usage: " + HvdProgram.TOP.line() + " [flags]\n\n"
                        + "Shows what this user's ranks on this host are doing, once a second; root sees all users' ranks.\n\n");
        for (Option option : options().getOptions()) {
            String letter = option.getOpt() == null ? "    " : "-" + option.getOpt() + ", ";
            text.append(String.format(
                    Locale.ROOT, "  %s--%-8s %s%n", letter, option.getLongOpt(), option.getDescription()));
        }
        return text.toString();
    }
}
