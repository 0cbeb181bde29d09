package io.hvd.train;

import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Tells on the first rank, after each epoch, its means over all ranks, the learning rate and the time. */
public final class Logging implements Callback {
    private static final double NANOS = 1e9;

    private final Consumer<String> out;
    private final double warmUpEpochs;
    private long begun;

    private Logging(Consumer<String> out, double warmUpEpochs) {
        this.out = out;
        this.warmUpEpochs = warmUpEpochs;
    }

    /** @param out gets a line per epoch, such as {@code System.out::println} */
    public static Logging to(Consumer<String> out) {
        return new Logging(out, 0);
    }

    /** Adds a line at the end of the schedule's warm-up: the epoch, and the learning rate that was reached. */
    public Logging withWarmUp(double epochs) {
        return new Logging(out, epochs);
    }

    @Override
    public void epochBegins(Training training) {
        begun = System.nanoTime();
    }

    @Override
    public void epochEnds(Training training) {
        if (training.ranks().rank() != 0) {
            return;
        }
        int done = training.epoch() + 1;
        String means = training.results().entrySet().stream()
                .map(each -> String.format(
                        Locale.ROOT, "%s %.4f", each.getKey(), each.getValue().mean()))
                .collect(Collectors.joining(", "));
        double rate = training.optimizer().learningRate();
        out.accept(String.format(
                Locale.ROOT,
                "epoch %d/%d: %slearning rate %s, %.1f s",
                done,
                training.epochs(),
                means.isEmpty() ? "" : means + ", ",
                (float) rate,
                (System.nanoTime() - begun) / NANOS));
        if (done - 1 < warmUpEpochs && done >= warmUpEpochs) {
            out.accept("epoch " + done + ": the warm-up has ended at learning rate " + (float) rate);
        }
    }
}
