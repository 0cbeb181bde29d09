package io.hvd.benchmarks;

import io.hvd.config.Numerals;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.help.HelpFormatter;

/** Runs every example's quick runs on several numbers of ranks, and writes the table of docs/records/examples.md. */
final class ExamplesBench {
    static final String BEGIN = "<!-- written by mpirun-scripts/bench-examples.sh -->";
    static final String END = "<!-- end of what bench-examples.sh writes -->";
    private static final int FAILED = 1;
    private static final int UNKNOWN = -1;
    private static final String LIMIT_SECONDS = "600";

    private final PrintStream out;
    private final String launcher;
    private final boolean gpus;
    private final long limitSeconds;
    private final List<ExampleRow> rows = new ArrayList<>();
    /** A folder for each number of ranks, where an example may leave a file for a later one, as unet3d does for unet3d-eval. */
    private final Map<String, Path> folders = new LinkedHashMap<>();
    /** Examples and the reasons why they were left out, each once. */
    private final Map<String, String> leftOut = new LinkedHashMap<>();

    private ExamplesBench(PrintStream out, String launcher, boolean gpus, long limitSeconds) {
        this.out = out;
        this.launcher = launcher;
        this.gpus = gpus;
        this.limitSeconds = limitSeconds;
    }

    private static Options flags() {
        return new Options()
                .addOption(valued("ranks", "numbers of processes under horovodrun, default 1,2,4"))
                .addOption(valued("threads", "ranks as threads of one process, default 4; 0 for none"))
                .addOption(valued("only", "names of examples, with commas between them"))
                .addOption(valued("page", "page to write the table into, if all examples have run well"))
                .addOption(
                        valued("limit", "seconds after which a run is ended and has failed, default " + LIMIT_SECONDS))
                .addOption(valued("launcher", "horovodrun, in the folder mpirun-scripts of the project"))
                .addOption("h", "help", false, "print this text");
    }

    private static Option valued(String name, String meaning) {
        return Option.builder().longOpt(name).hasArg().desc(meaning).get();
    }

    /** Runs {@code bench-examples.sh}. @return the exit code: 1 if a run has failed */
    static int run(PrintStream out, String... args) throws IOException, ParseException, InterruptedException {
        CommandLine line = new DefaultParser().parse(flags(), args);
        if (line.hasOption("help")) {
            HelpFormatter.builder()
                    .setShowSince(false)
                    .get()
                    .printHelp("bench-examples.sh", "Runs every example's quick runs.", flags(), "", true);
            return 0;
        }
        if (!line.getArgList().isEmpty()) {
            throw new ParseException("unexpected " + line.getArgList());
        }
        if (line.hasOption("page") && line.hasOption("only")) {
            throw new ParseException("--page is for all examples, found --only too: the table is of one whole run");
        }
        String launcher = line.getOptionValue("launcher", "mpirun-scripts/horovodrun");
        Path root = Path.of(launcher).toAbsolutePath().normalize().getParent().getParent();
        List<ExampleRun> runs = ExampleRun.all(root, line.getOptionValue("only", ""));
        List<Integer> ranks = Bench.numbers("ranks", line.getOptionValue("ranks", "1,2,4"), Numerals::wholeInt);
        String threads = line.getOptionValue("threads", "4");
        ExamplesBench bench = new ExamplesBench(
                out,
                launcher,
                hasGpus(),
                Bench.numbers("limit", line.getOptionValue("limit", LIMIT_SECONDS), Numerals::whole)
                        .get(0));
        out.println(MachineLine.line());
        out.print(ExampleRow.HEAD);
        int threadRanks = threads.equals("0")
                ? 0
                : Bench.numbers("threads", threads, Numerals::wholeInt).get(0);
        try {
            for (ExampleRun run : runs) {
                bench.measureAll(run, ranks, threadRanks);
            }
        } finally {
            bench.deleteFolders();
        }
        return bench.finish(line.getOptionValue("page"));
    }

    private void measureAll(ExampleRun run, List<Integer> ranks, int threads) throws IOException, InterruptedException {
        for (int each : ranks) {
            measure(run, each, false);
        }
        if (threads > 0) {
            measure(run, threads, true);
        }
    }

    private static boolean hasGpus() throws InterruptedException {
        try {
            Process process = new ProcessBuilder("nvidia-smi", "-L")
                    .redirectErrorStream(true)
                    .start();
            boolean listsSome = process.inputReader().lines().anyMatch(line -> line.startsWith("GPU "));
            return process.waitFor() == 0 && listsSome;
        } catch (IOException e) {
            return false;
        }
    }

    private void measure(ExampleRun run, int ranks, boolean threads) throws IOException, InterruptedException {
        String why = run.whyNot(ranks, threads, gpus);
        String in = threads ? ranks + " threads" : String.valueOf(ranks);
        if (!why.isEmpty()) {
            boolean always = !run.run().leftOut().isEmpty() || run.run().needsGpu() && !gpus;
            leftOut.putIfAbsent("`" + run.title() + "`" + (always ? "" : " on " + in), why);
            return;
        }
        if (!folders.containsKey(in)) {
            folders.put(in, Files.createTempDirectory("hvd-bench-examples"));
        }
        ExampleRow row = run(run, ranks, threads, in, folders.get(in));
        rows.add(row);
        out.print(row);
        if (!row.failure().isEmpty()) {
            out.println("FAILED " + run.title() + " on " + in + ": " + row.failure());
        }
    }

    private ExampleRow run(ExampleRun run, int ranks, boolean threads, String in, Path folder)
            throws IOException, InterruptedException {
        String load = Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(run.command(launcher, ranks, threads))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("HVD_REPORT_DIR", folder.toString());
        long begun = System.nanoTime();
        Process process = builder.start();
        boolean ended = process.waitFor(limitSeconds, TimeUnit.SECONDS);
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        List<String> lines = new ArrayList<>(Files.readAllLines(output));
        if (!ended) {
            lines.add("ended because it ran for " + limitSeconds + " seconds, see --limit");
        }
        int exitCode = ended ? process.exitValue() : UNKNOWN;
        return ExampleRow.of(run.title(), in, seconds, load, exitCode, run.run().exitCode(), lines);
    }

    private int finish(String page) throws IOException {
        List<ExampleRow> failed =
                rows.stream().filter(row -> !row.failure().isEmpty()).toList();
        leftOut.forEach((title, why) -> out.println("left out: " + title + ": " + why));
        out.printf(Locale.ROOT, "%d runs, %d failed, %d left out%n", rows.size(), failed.size(), leftOut.size());
        if (!failed.isEmpty()) {
            failed.forEach(row -> out.println("FAILED " + row.command() + " on " + row.ranks()));
            if (page != null) {
                out.println(page + " is left as it was");
            }
            return FAILED;
        }
        if (page != null) {
            write(Path.of(page));
        }
        return 0;
    }

    private void write(Path page) throws IOException {
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IOException(page + " has no room for the table: expected the lines " + BEGIN + " and " + END);
        }
        StringBuilder table = new StringBuilder("On "
                + MachineLine.line()
                        .replaceFirst("^MACHINE ", "")
                        .replaceFirst(" load=\\S+", "")
                        .replace(" ", ", ") + ":\n\n" + ExampleRow.HEAD);
        rows.forEach(table::append);
        table.append("\nLeft out:\n\n");
        leftOut.forEach((title, why) ->
                table.append("- ").append(title).append(": ").append(why).append('\n'));
        Files.writeString(page, text.substring(0, begin + BEGIN.length()) + "\n" + table + text.substring(end));
    }

    private void deleteFolders() throws IOException {
        for (Path folder : folders.values()) {
            delete(folder);
        }
    }

    private static void delete(Path folder) throws IOException {
        List<Path> all;
        try (Stream<Path> files = Files.walk(folder)) {
            all = files.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : all) {
            Files.delete(file);
        }
    }
}
