package io.hvd.train;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Tells on the first rank, after each epoch, its means over all ranks, the learning rate and the time; and if it is asked to, within an
 * epoch how far it is and how long it still takes. No line takes a message between ranks.
 */
public final class Logging implements Callback {
    private static final double NANOS = 1e9;
    /** Between two looks of a line that is written over itself. */
    private static final long LOOK_NANOS = 200_000_000;

    private static final int BAR = 20;
    /** A longer line would be broken, and could not be written over. */
    private static final int WIDTH = 79;

    private final Consumer<String> out;
    /** Takes a line that is written over itself; null if lines stay. */
    private final PrintStream terminal;

    private final LongSupplier nanos;
    private double warmUpEpochs;
    /** 0 for no lines within an epoch. */
    private int every;

    private long begun;
    private long shown;
    private boolean open;
    private EpochMetrics told = new EpochMetrics();

    Logging(Consumer<String> out, PrintStream terminal, LongSupplier nanos) {
        this.out = out;
        this.terminal = terminal;
        this.nanos = nanos;
    }

    /** @param out gets a line per epoch, such as {@code System.out::println} */
    public static Logging to(Consumer<String> out) {
        return new Logging(out, null, System::nanoTime);
    }

    /**
     * Prints to the standard output. Where that is a terminal, also that of a job under horovodrun, a bar shows the epoch under way;
     * elsewhere there is a line for it every so many steps.
     */
    public static Logging progress(int steps) {
        boolean terminal = HvdConfig.fromEnvironment().printsToTerminal();
        return new Logging(System.out::println, terminal ? System.out : null, System::nanoTime).everySteps(steps);
    }

    /**
     * Adds a line within the epoch after each so many steps, such as {@code epoch 2/10, step 150/600: 14 s left, 31.2 steps/s,
     * loss 0.4231, learning rate 0.01}. The metrics are the first rank's own means since its last line, and the time is that of the epoch's steps.
     */
    public Logging everySteps(int steps) {
        if (steps < 1) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "Logging.everySteps(" + steps + "): expected at least 1");
        }
        every = steps;
        return this;
    }

    /** Adds a line at the end of the schedule's warm-up: the epoch, and the learning rate that was reached. */
    public Logging withWarmUp(double epochs) {
        warmUpEpochs = epochs;
        return this;
    }

    @Override
    public void epochBegins(Training training) {
        begun = nanos.getAsLong();
        shown = begun - LOOK_NANOS;
        told = new EpochMetrics();
    }

    @Override
    public void batchEnds(Training training) {
        if (every == 0 || training.ranks().rank() != 0) {
            return;
        }
        boolean last = training.batch() == training.batches();
        if (terminal != null) {
            long now = nanos.getAsLong();
            if (last || now - shown >= LOOK_NANOS) {
                shown = now;
                show(bar(training) + within(training), last);
            }
        } else if (training.steps() % every == 0) {
            out.accept(place(training) + ", step " + training.batch() + "/" + training.batches() + ": "
                    + within(training));
        }
    }

    private static String place(Training training) {
        return "epoch " + (training.epoch() + 1) + "/" + training.epochs();
    }

    private static String bar(Training training) {
        int done = training.batches() == 0 ? BAR : (int) ((long) BAR * training.batch() / training.batches());
        return place(training) + " [" + "=".repeat(done) + " ".repeat(BAR - done) + "] " + training.batch() + "/"
                + training.batches() + ", ";
    }

    /** The line replaces the one before; the last one of an epoch stays. */
    private void show(String line, boolean last) {
        String cut = line.substring(0, Math.min(line.length(), WIDTH));
        terminal.print("\r" + cut + " ".repeat(WIDTH - cut.length()) + (last ? System.lineSeparator() : ""));
        terminal.flush();
        open = !last;
    }

    private String within(Training training) {
        EpochMetrics now = training.metrics().copy();
        Map<String, Double> means = now.since(told).means();
        means.keySet().removeAll(List.of(TimeMeasure.STEP, TimeMeasure.DATA)); // the steps per second say that
        told = now;
        double seconds = (nanos.getAsLong() - begun) / NANOS;
        double left = seconds / training.batch() * (training.batches() - training.batch());
        return String.format(
                Locale.ROOT,
                "%s left, %.1f steps/s, %s",
                duration(left),
                training.batch() / seconds,
                figures(means, training));
    }

    private static String figures(Map<String, Double> means, Training training) {
        String all = means.entrySet().stream()
                .map(each -> String.format(Locale.ROOT, "%s %.4f, ", each.getKey(), each.getValue()))
                .collect(Collectors.joining());
        return all + "learning rate " + (float) training.optimizer().learningRate();
    }

    /** To the second, in at most two units. */
    private static String duration(double seconds) {
        long whole = Math.round(seconds);
        if (whole < 60) {
            return whole + " s";
        }
        return whole < 3600
                ? whole / 60 + " min " + whole % 60 + " s"
                : whole / 3600 + " h " + whole % 3600 / 60 + " min";
    }

    @Override
    public void epochEnds(Training training) {
        if (training.ranks().rank() != 0) {
            return;
        }
        endLine(); // ranks that join may have made the last batches
        int done = training.epoch() + 1;
        Map<String, Double> means = training.results().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, each -> each.getValue().mean(), (one, two) -> one, TreeMap::new));
        out.accept(place(training) + ": " + figures(means, training)
                + String.format(Locale.ROOT, ", %.1f s", (nanos.getAsLong() - begun) / NANOS));
        if (done - 1 < warmUpEpochs && done >= warmUpEpochs) {
            float rate = (float) training.optimizer().learningRate();
            out.accept("epoch " + done + ": the warm-up has ended at learning rate " + rate);
        }
    }

    @Override
    public void trainingEnds(Training training) {
        endLine();
    }

    @Override
    public void trainingFails(Training training) {
        endLine();
    }

    /** Begins a line where an epoch was left in its middle. */
    private void endLine() {
        if (open) {
            terminal.println();
            open = false;
        }
    }
}
