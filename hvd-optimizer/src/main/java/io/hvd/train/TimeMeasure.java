package io.hvd.train;

/**
 * Adds two metrics, means over all batches of all ranks: {@value #STEP} is the time of a step, and {@value #DATA} the time in which a rank waited for its next
 * batch or was busy with callbacks.
 */
public final class TimeMeasure implements Callback {
    /** The name of the metric of steps. */
    public static final String STEP = "seconds per step";
    /** The name of the metric of what lies between steps. */
    public static final String DATA = "seconds between steps";

    private static final double NANOS = 1e9;

    private long last;

    /** One for a loop. */
    public TimeMeasure() {}

    @Override
    public void epochBegins(Training training) {
        last = System.nanoTime();
    }

    @Override
    public void batchBegins(Training training) {
        training.metrics().add(DATA, secondsSinceLast(), 1);
    }

    @Override
    public void batchEnds(Training training) {
        training.metrics().add(STEP, secondsSinceLast(), 1);
    }

    private double secondsSinceLast() {
        long now = System.nanoTime();
        double seconds = (now - last) / NANOS;
        last = now;
        return seconds;
    }
}
