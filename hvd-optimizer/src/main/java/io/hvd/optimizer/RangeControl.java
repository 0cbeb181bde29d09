package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * Keeps gradients that travel as float16 within that format's range, for {@link DistributedOptimizerBuilder#rangeControl}. Each
 * gradient is multiplied by a power of two before it travels and divided by it afterwards, which changes no bit of it but those that
 * float16 has no room for. The power is chosen from the greatest magnitude that the gradient had on any rank, so that the sum over the ranks has
 * room to grow eightfold. The ranks look at it, and agree by an allreduce of one number per parameter, in the first step, in which everything
 * travels in its own type, and then after every so many steps. A gradient travels in its own type until it was not zero in such a step, and
 * if one is not finite on any rank, the ranks look again in the next step. After a join they begin anew with a first step.
 *
 * <p>If an average is not finite nevertheless, that step is what it is without range control. The ranks then ask each other whether the gradient
 * was finite on each of them before it travelled. If so, it is made smaller by 2^6 in the next step. After {@code fallbackAfter} such steps, with no
 * more than 1000 steps between one and the next, it travels in its own type from then on, and the log says so. If not, as in a step that a
 * {@link GradScaler} skips, nothing follows from it.
 *
 * @param everySteps number of steps after which the ranks look at the range again, 1 or more; the step after it is negotiated, so a small
 *     number costs time
 * @param fallbackAfter number of steps with an overflow after which a gradient travels in its own type, 1 or more
 */
public record RangeControl(int everySteps, int fallbackAfter) {
    private static final int FALLBACK_AFTER = 3;

    public RangeControl {
        if (everySteps < 1 || fallbackAfter < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "RangeControl every " + everySteps + " steps, fallback after " + fallbackAfter
                            + " overflows: expected 1 or more of each");
        }
    }

    /** Looks at the range after every so many steps, and falls back after three overflows. */
    public static RangeControl every(int steps) {
        return new RangeControl(steps, FALLBACK_AFTER);
    }

    /** This control with another number of overflows. */
    public RangeControl withFallbackAfter(int overflows) {
        return new RangeControl(everySteps, overflows);
    }
}
