package io.hvd.top;

import io.hvd.config.HvdProgram;
import io.hvd.file.TextFile;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.commons.cli.ParseException;

/**
 * Writes load and memory of each GPU, by nvidia-smi, or of each rank of this host, by the pages that hvd-top shows, and makes a plot
 * of them. Ends with 2 for a command line that cannot be understood, and with 1 if there was nothing to write.
 */
public final class HvdMonitor {
    private static final int NOTHING = 1;
    private static final int USAGE = 2;
    private static final long END_MILLIS = 5_000;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final OpenPages pages;
    private final Path proc;
    private final String nvidiaSmi;
    private final PrintStream out;
    private final PrintStream err;
    private final List<Reading> readings = new ArrayList<>();
    /** Opened when the run is interrupted. */
    private final CountDownLatch interrupted = new CountDownLatch(1);

    private volatile AutoCloseable source = () -> {};

    /** @param nvidiaSmi the program, by its name or path */
    HvdMonitor(Path proc, String nvidiaSmi, PrintStream out, PrintStream err) {
        this.pages = new OpenPages(proc);
        this.proc = proc;
        this.nvidiaSmi = nvidiaSmi;
        this.out = out;
        this.err = err;
    }

    public static void main(String[] args) throws InterruptedException {
        HvdMonitor monitor = new HvdMonitor(Path.of("/proc"), "nvidia-smi", System.out, System.err);
        Thread caller = Thread.currentThread();
        Thread hook = new Thread(() -> monitor.endWith(caller), "hvd-monitor-end");
        Runtime.getRuntime().addShutdownHook(hook);
        int exitCode = monitor.run(args);
        if (monitor.interrupted.getCount() > 0) {
            Runtime.getRuntime().removeShutdownHook(hook);
            System.exit(exitCode);
        }
    }

    /** Lets an interrupted run write its plot before the process ends. */
    private void endWith(Thread caller) {
        interrupted.countDown();
        try {
            source.close();
            caller.join(END_MILLIS);
        } catch (Exception e) {
            err.println("hvd-monitor: " + e.getMessage());
        }
    }

    int run(String... args) throws InterruptedException {
        try {
            MonitorFlags flags = MonitorFlags.from(args);
            if (flags.help()) {
                out.print(MonitorFlags.usage());
                return 0;
            }
            return flags.read().isPresent() ? plotOf(flags.read().get(), flags) : watch(flags);
        } catch (ParseException e) {
            err.println(
                    "hvd-monitor: " + e.getMessage() + "; " + HvdProgram.MONITOR.line() + " --help lists the flags");
            return USAGE;
        } catch (IOException | UncheckedIOException e) {
            err.println("hvd-monitor: " + e.getMessage());
            return NOTHING;
        }
    }

    private int plotOf(Path csv, MonitorFlags flags) throws IOException {
        List<String> lines = TextFile.lines(csv);
        lines.stream().map(Reading::parse).flatMap(Optional::stream).forEach(readings::add);
        if (readings.isEmpty()) {
            err.println("hvd-monitor: none of the " + lines.size() + " lines of " + csv + " has the columns "
                    + Reading.GPU_COLUMNS);
            return NOTHING;
        }
        return finish(lines.contains(Reading.RANK_COLUMNS) ? "rank" : "GPU", flags, out);
    }

    private int watch(MonitorFlags flags) throws IOException, InterruptedException {
        boolean gpus = !flags.cpu() && GpuReadings.areThere(nvidiaSmi);
        try (PrintStream csv = csv(flags)) {
            if (flags.columns()) {
                csv.println(gpus ? Reading.GPU_COLUMNS : Reading.RANK_COLUMNS);
            }
            if (gpus) {
                watchGpus(flags, csv);
            } else {
                watchRanks(flags, csv);
            }
        }
        return finish(gpus ? "GPU" : "rank", flags, flags.csv().isPresent() ? out : err);
    }

    /** Closing it does not close the standard output. */
    private PrintStream csv(MonitorFlags flags) throws IOException {
        return flags.csv().isPresent()
                ? new PrintStream(Files.newOutputStream(flags.csv().get()), true, StandardCharsets.UTF_8)
                : new PrintStream(out, true, StandardCharsets.UTF_8) {
                    @Override
                    public void close() {
                        flush();
                    }
                };
    }

    private boolean goesOn(MonitorFlags flags, long begun) {
        return interrupted.getCount() > 0
                && (flags.seconds() == 0 || System.nanoTime() - begun < flags.seconds() * NANOS_PER_SECOND);
    }

    private void watchGpus(MonitorFlags flags, PrintStream csv) throws IOException {
        long begun = System.nanoTime();
        try (GpuReadings gpus = new GpuReadings(nvidiaSmi, flags.gpus(), flags.intervalMillis())) {
            source = gpus;
            Optional<Reading> next = gpus.next();
            while (next.isPresent() && goesOn(flags, begun)) {
                keep(next.get(), csv);
                next = gpus.next();
            }
        } catch (IOException e) {
            if (interrupted.getCount() > 0) {
                throw e;
            }
        }
    }

    private void watchRanks(MonitorFlags flags, PrintStream csv) throws IOException, InterruptedException {
        RankReadings ranks = new RankReadings(pages, proc, flags.job());
        long begun = System.nanoTime();
        boolean seen = false;
        while (goesOn(flags, begun)) {
            for (Reading one : ranks.look(LocalDateTime.now(ZoneId.systemDefault()))) {
                keep(one, csv);
            }
            if (seen && !ranks.seesRanks()) {
                return; // the job has ended
            }
            if (!seen && ranks.seesRanks() && !ranks.choice().isEmpty()) {
                err.println("hvd-monitor: " + ranks.choice());
            }
            seen |= ranks.seesRanks();
            if (interrupted.await(flags.intervalMillis(), TimeUnit.MILLISECONDS)) {
                return;
            }
        }
    }

    private void keep(Reading one, PrintStream csv) {
        readings.add(one);
        csv.println(one.csv());
    }

    private int finish(String what, MonitorFlags flags, PrintStream summary) throws IOException {
        if (readings.isEmpty()) {
            err.println("hvd-monitor: no " + what + " was seen"
                    + (flags.job().isEmpty() ? "" : " of job " + flags.job() + ", which --job names"));
            return NOTHING;
        }
        TreeMap<Integer, List<Reading>> byIndex = new TreeMap<>();
        readings.forEach(one ->
                byIndex.computeIfAbsent(one.index(), index -> new ArrayList<>()).add(one));
        byIndex.forEach((index, all) -> summary.printf(
                Locale.ROOT,
                "%s %d: %d readings, load %.0f %% in the mean, memory %d MiB at most%n",
                what,
                index,
                all.size(),
                all.stream()
                        .filter(Reading::knowsLoad)
                        .mapToLong(Reading::load)
                        .average()
                        .orElse(0),
                all.stream().mapToLong(Reading::usedMebibytes).max().orElse(0)));
        if (flags.plot().isPresent()) {
            Files.writeString(flags.plot().get(), new MonitorPlot(what, readings).html());
        }
        return 0;
    }
}
