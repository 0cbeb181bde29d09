package io.hvd.optimizer.step;

import io.hvd.optimizer.StepStats;

/** How far an optimizer is in its step, and what is known of the last one. The optimizer owns it, and goes on with it in the next generation. */
public final class StepProgress {
    private boolean synchronizedAlready;
    private boolean skipping;
    private boolean anyBegun;
    private boolean gathered;
    private boolean failed;
    private long made;
    private double lastNorm = Double.NaN;
    private boolean measuresNorm;
    private StepStats last = new StepStats(0, 0, 0, 0);

    /** A step begins; it counts as failed until {@link #ended}. */
    public void begin() {
        made++;
        failed = true;
    }

    public void ended() {
        failed = false;
    }

    /** Whether the last step has thrown, so that the other ranks may be anywhere. */
    public boolean hasFailed() {
        return failed;
    }

    public long made() {
        return made;
    }

    /** Forgets the gradients, with the backward passes that led to them. */
    public void startOver() {
        synchronizedAlready = false;
        gathered = false;
    }

    /** The next step is the first one in another context. */
    public void rebound() {
        startOver();
        failed = false;
        skipping = false;
        anyBegun = false;
        measuresNorm = false;
    }

    /** Whether the gradients are averages that no step has used. */
    public boolean isSynchronized() {
        return synchronizedAlready;
    }

    public void setSynchronized(boolean now) {
        synchronizedAlready = now;
    }

    /** Whether a step uses the gradients as they are. */
    public boolean isSkipping() {
        return skipping;
    }

    public void setSkipping(boolean now) {
        skipping = now;
    }

    /** Whether a first step has come so far that its ranks' settings agree. */
    boolean anyBegun() {
        return anyBegun;
    }

    void setAnyBegun() {
        anyBegun = true;
    }

    /** Whether the gradients of a rank that exchanges none have been put together since they were last cleared. */
    boolean isGathered() {
        return gathered;
    }

    void setGathered() {
        gathered = true;
    }

    /** Has the next step know its norm although nothing limits it. */
    public void measureNorm() {
        measuresNorm = true;
    }

    /** Whether this step is to know its norm; the next one is not, unless it is said again. */
    boolean takeMeasuresNorm() {
        boolean measures = measuresNorm;
        measuresNorm = false;
        return measures;
    }

    public double lastNorm() {
        return lastNorm;
    }

    void setLastNorm(double norm) {
        lastNorm = norm;
    }

    public StepStats last() {
        return last;
    }

    void setLast(StepStats stats) {
        last = stats;
    }
}
