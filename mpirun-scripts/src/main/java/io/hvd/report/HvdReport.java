package io.hvd.report;

import io.hvd.config.HvdProgram;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Makes a page of the folders of runs, or serves it while they train. Ends with 1 if one of them cannot be read or the page cannot be written, and with 2 for a
 * command line that cannot be understood.
 */
public final class HvdReport {
    private static final int UNREADABLE = 1;
    private static final int USAGE = 2;
    private static final int LARGEST_PORT = 65_535;
    private static final String PAGE = "report.html";

    private final PrintStream out;
    private final PrintStream err;

    HvdReport(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] args) {
        System.exit(new HvdReport(System.out, System.err).run(args));
    }

    int run(String... args) {
        CommandLine line;
        try {
            line = new DefaultParser().parse(options(), args);
        } catch (ParseException e) {
            return refuse(e.getMessage());
        }
        if (line.hasOption("help")) {
            out.print(help());
            return 0;
        }
        if (line.getArgList().isEmpty()) {
            return refuse("name the folder of a run");
        }
        if (line.hasOption("live")) {
            return serve(line);
        }
        if (line.hasOption("port")) {
            return refuse("--port is for --live");
        }
        return write(line.getArgList().stream().map(Path::of).toList(), Path.of(line.getOptionValue("output", PAGE)));
    }

    private int refuse(String why) {
        err.println("hvd-report: " + why + "; " + HvdProgram.REPORT.line() + " --help lists the flags");
        return USAGE;
    }

    private int write(List<Path> folders, Path page) {
        try {
            String html = new ReportPage(RunFolder.read(folders)).html();
            WholeFile.write(page, html.getBytes(StandardCharsets.UTF_8));
        } catch (ReportException e) {
            err.println("hvd-report: " + e.getMessage());
            return UNREADABLE;
        } catch (IOException e) {
            err.println("hvd-report: " + page + " cannot be written: " + e);
            return UNREADABLE;
        }
        out.println(page + " shows " + folders.size() + (folders.size() == 1 ? " run" : " runs"));
        return 0;
    }

    /** Serves until this process is ended. */
    private int serve(CommandLine line) {
        if (line.hasOption("output")) {
            return refuse("--output and --live exclude each other: a live page is no file");
        }
        String port = line.getOptionValue("port", "0");
        if (!port.matches("\\d{1,5}") || Integer.parseInt(port) > LARGEST_PORT) {
            return refuse("--port is " + port + ", expected a number from 0, for a free port, to " + LARGEST_PORT);
        }
        List<Path> folders = line.getArgList().stream().map(Path::of).toList();
        try (LivePage page = LivePage.serve(folders, Integer.parseInt(port))) {
            out.println("open " + page.address() + " in a browser of this machine; Ctrl-C ends it");
            new CountDownLatch(1).await();
        } catch (IOException e) {
            err.println("hvd-report: port " + port + " cannot be opened: " + e.getMessage());
            return UNREADABLE;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 0;
    }

    private static Options options() {
        return new Options()
                .addOption(Option.builder("l")
                        .longOpt("live")
                        .desc("Serve the page to browsers of this machine, which load it again every "
                                + LivePage.REFRESH_SECONDS + " seconds, while the runs train.")
                        .get())
                .addOption(Option.builder("p")
                        .longOpt("port")
                        .hasArg()
                        .argName("N")
                        .desc("The port of --live, a free one unless said.")
                        .get())
                .addOption(Option.builder("o")
                        .longOpt("output")
                        .hasArg()
                        .argName("FILE")
                        .desc("The page, " + PAGE + " unless said.")
                        .get())
                .addOption(Option.builder("h")
                        .longOpt("help")
                        .desc("Print this help.")
                        .get());
    }

    private static String help() {
        StringBuilder text = new StringBuilder("usage: " + HvdProgram.REPORT.line() + " [flags] RUN_DIR ...\n\n"
                + "Makes one page of HTML of runs whose records are in these folders, side by side.\n\n");
        for (Option option : options().getOptions()) {
            String value = option.hasArg() ? " " + option.getArgName() : "";
            text.append(String.format(
                    Locale.ROOT,
                    "  -%s, --%-13s %s%n",
                    option.getOpt(),
                    option.getLongOpt() + value,
                    option.getDescription()));
        }
        return text.toString();
    }
}
