package io.hvd.optimizer;

import java.util.List;
import java.util.Map;

/**
 * The observations of {@link RangeControl} since the optimizer was built.
 *
 * @param steps number of exchanges
 * @param observedElements elements that this rank looked at before they travelled as float16, in the steps in which it looked
 * @param underflows those of them that were not zero and travelled as zero
 * @param overflows averages of one gradient in one step that were not finite although every rank's gradient was; the same on all
 *     ranks, unless one has joined
 * @param maximum the greatest magnitude of any gradient on any rank, as seen in the steps in which the ranks looked; gradients that
 *     were not finite are left out
 * @param exponents for each parameter whose gradient travels as float16, the power of two by which it is multiplied before
 * @param inFloat32 parameters whose gradients travel in their own type because of overflows
 */
public record RangeStats(
        long steps,
        long observedElements,
        long underflows,
        long overflows,
        double maximum,
        Map<String, Integer> exponents,
        List<String> inFloat32) {
    static final RangeStats NONE = new RangeStats(0, 0, 0, 0, 0, Map.of(), List.of());

    /** The share of the observed elements that travelled as zero without being zero, from 0 to 1. */
    public double underflowShare() {
        return observedElements == 0 ? 0 : (double) underflows / observedElements;
    }
}
