package io.hvd.monitor.view;

/**
 * Announced long work of a rank, during which the other ranks may wait for it.
 *
 * @param what the name of the work, or empty if there is none
 * @param leftMillis the rest of its budget in milliseconds; negative if the budget is exceeded
 * @param endedAgo milliseconds since the last such work ended, or {@link CallView#NOT_YET}
 */
public record PhaseView(String what, long leftMillis, long endedAgo) {
    public static final PhaseView NONE = new PhaseView("", 0, CallView.NOT_YET);

    public boolean isOpen() {
        return !what.isEmpty();
    }

    boolean isWithinBudget() {
        return isOpen() && leftMillis >= 0;
    }

    public boolean isOverBudget() {
        return isOpen() && leftMillis < 0;
    }

    /** The part of {@code millis} for which others have waited for this rank without an excuse. */
    public long unexcused(long millis) {
        if (isOpen()) {
            return isWithinBudget() ? 0 : millis;
        }
        return endedAgo == CallView.NOT_YET ? millis : Math.min(millis, endedAgo);
    }

    PhaseView after(long millis) {
        return new PhaseView(
                what,
                isOpen() ? leftMillis - millis : 0,
                endedAgo == CallView.NOT_YET ? CallView.NOT_YET : endedAgo + millis);
    }
}
