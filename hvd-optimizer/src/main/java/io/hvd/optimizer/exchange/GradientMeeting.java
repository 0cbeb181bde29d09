package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.agreement.SettingsCheck;

/** Makes sure that this rank's gradients can meet those of the others, and ends the exchange if they never can. */
final class GradientMeeting {
    private final SettingsCheck settingsCheck;
    private final Runnable whenEnded;
    /** Null unless this rank's gradients can never meet those of the others. */
    private HvdException ended;

    /**
     * @param settingsCheck begins before the first gradients are sent
     * @param whenEnded forgets what has been sent
     */
    GradientMeeting(SettingsCheck settingsCheck, Runnable whenEnded) {
        this.settingsCheck = settingsCheck;
        this.whenEnded = whenEnded;
    }

    /** Something is about to be sent, or to be waited for. */
    void begin() {
        settingsCheck.begin();
    }

    /** Another first step follows. */
    void startOver() {
        settingsCheck.startOver();
    }

    /** @throws HvdException if the ranks' settings differ, so that what has been sent off may never come back */
    void require() {
        try {
            settingsCheck.requireThatGradientsMeet();
        } catch (HvdException e) {
            if (e.id() == ErrorId.DIVERGED) {
                ended = e;
                whenEnded.run();
            }
            throw e;
        }
    }

    boolean hasEnded() {
        return ended != null;
    }

    void requireNotEnded() {
        if (ended != null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "this optimizer has ended with its first step, in which the ranks' settings differed: what it has sent"
                            + " then may still be under way. Build a new one on every rank, with the same settings",
                    ended);
        }
    }
}
