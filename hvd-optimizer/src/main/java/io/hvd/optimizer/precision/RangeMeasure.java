package io.hvd.optimizer.precision;

import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.GradientScan;
import io.hvd.tensor.Tensor;
import java.util.BitSet;
import java.util.List;

/** Multiplies the gradients of a step by their powers of two, and back, and measures them on the way. */
final class RangeMeasure {
    private final List<Parameter> parameters;
    private final TravelTypes types;
    private final GradientScan scan = new GradientScan();

    private final BitSet scaled = new BitSet();
    /** Gradients that were not finite on this rank before they travelled. */
    private final BitSet broken = new BitSet();
    /** Infinite for a gradient that was not finite. */
    private final float[] maxima;

    private long observedElements;
    private long underflows;

    RangeMeasure(List<Parameter> parameters, TravelTypes types) {
        this.parameters = parameters;
        this.types = types;
        this.maxima = new float[parameters.size()];
    }

    /** @param looks whether magnitudes are measured in this step */
    void leaving(int parameter, boolean looks) {
        boolean narrow = !types.isWide(parameter);
        if (!types.isWatched(parameter) || !(narrow || looks)) {
            return;
        }
        int exponent = narrow ? types.exponent(parameter) : 0;
        Tensor gradient = parameters.get(parameter).gradient();
        if (looks) {
            GradientScan.Magnitudes seen = scan.multiplyAndLook(gradient, exponent);
            maxima[parameter] =
                    seen.finite() ? (float) Math.min(Float.MAX_VALUE, seen.maximum()) : Float.POSITIVE_INFINITY;
            broken.set(parameter, !seen.finite());
            if (narrow) {
                observedElements += gradient.elements();
                underflows += seen.vanishing();
            }
        } else {
            broken.set(parameter, !scan.multiplyFinite(gradient, exponent));
        }
        scaled.set(parameter, narrow);
    }

    /** Gives the gradients that were multiplied their magnitudes back. */
    void undo() {
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            scan.multiply(parameters.get(i).gradient(), -types.exponent(i));
        }
        scaled.clear();
    }

    /** Does the same with their averages, and returns those that are not finite. */
    BitSet arrived() {
        BitSet suspects = new BitSet();
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            suspects.set(i, !scan.multiply(parameters.get(i).gradient(), -types.exponent(i)));
        }
        scaled.clear();
        return suspects;
    }

    /** By parameter, 1 if the gradient was not finite before it travelled. */
    float[] broken() {
        float[] here = new float[parameters.size()];
        broken.stream().forEach(parameter -> here[parameter] = 1);
        return here;
    }

    /** By parameter, the greatest magnitude, until it is set to 0; the ranks agree on them in place. */
    float[] maxima() {
        return maxima;
    }

    /** Elements of this rank that were looked at before they travelled as float16. */
    long observedElements() {
        return observedElements;
    }

    /** How many of these became zero. */
    long underflows() {
        return underflows;
    }
}
