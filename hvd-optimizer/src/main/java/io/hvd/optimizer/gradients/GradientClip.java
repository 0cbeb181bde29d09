package io.hvd.optimizer.gradients;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;

/**
 * Limits the averaged gradients before a step.
 *
 * @param norm infinite if there is no limit
 * @param value infinite if there is no limit
 */
public record GradientClip(double norm, double value) {
    public static final GradientClip NONE = new GradientClip(Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY);

    public GradientClip withNorm(double max) {
        require("clipGradientNorm", max);
        return new GradientClip(max, value);
    }

    public GradientClip withValue(double max) {
        require("clipGradientValue", max);
        return new GradientClip(norm, max);
    }

    private static void require(String call, double max) {
        if (!(max > 0)) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, call + "(" + max + "): expected a number above 0");
        }
    }

    public boolean isNone() {
        return equals(NONE);
    }

    /** The words that the ranks compare. */
    public Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        if (limitsNorm()) {
            settings.put("clipped gradient norm", String.valueOf(norm));
        }
        if (value < Double.POSITIVE_INFINITY) {
            settings.put("clipped gradient value", String.valueOf(value));
        }
        return settings;
    }

    boolean limitsNorm() {
        return norm < Double.POSITIVE_INFINITY;
    }

    /**
     * Limits the elements, and then the norm.
     *
     * @param agreed the norm of all gradients, which the ranks agree on
     * @param measures whether the norm is wanted although there is no limit
     * @return that norm, or NaN if it is not known
     */
    public double apply(GradientArithmetic gradients, DoubleSupplier agreed, boolean measures) {
        if (value < Double.POSITIVE_INFINITY) {
            gradients.clampGradients(value);
        }
        if (!limitsNorm() && !measures) {
            return Double.NaN;
        }
        double found = agreed.getAsDouble();
        if (limitsNorm()) {
            scaleDown(gradients, found, norm);
        }
        return found;
    }

    /** As torch's {@code clip_grad_norm_}. The norm of averages is the same on all ranks, and so is the factor. */
    public static void scaleDown(GradientArithmetic gradients, double norm, double most) {
        double factor = most / (norm + 1e-6);
        if (!(factor >= 1)) { // a norm that is NaN makes all gradients NaN, so that none is stepped unclipped
            gradients.multiplyGradients(factor);
        }
    }
}
