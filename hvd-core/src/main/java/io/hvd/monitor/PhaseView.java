package io.hvd.monitor;

/**
 * Known long work of a rank, for which the others wait patiently.
 *
 * @param what is being done, or empty if nothing is
 * @param leftMillis of its budget; negative when it has run over
 * @param endedAgo milliseconds since the last such work ended, or {@link CallView#NOT_YET}
 */
record PhaseView(String what, long leftMillis, long endedAgo) {
    static final PhaseView NONE = new PhaseView("", 0, CallView.NOT_YET);

    boolean isOpen() {
        return !what.isEmpty();
    }

    boolean isWithinBudget() {
        return isOpen() && leftMillis >= 0;
    }

    boolean isOverBudget() {
        return isOpen() && leftMillis < 0;
    }

    /** The part of {@code millis} for which others have waited for this rank without an excuse. */
    long unexcused(long millis) {
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
