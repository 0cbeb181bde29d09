package io.hvd.optimizer.precision;

import java.util.Arrays;
import java.util.BitSet;

/** Records over the steps how each gradient travels: in its own type, or as float16 after it was multiplied by a power of two. */
final class TravelTypes {
    private final RangeRules rules;
    /** By parameter; of those that are no wider than float16 nothing is touched. */
    private final BitSet watched;
    /** Gradients that travel in their own type: until a magnitude has been seen, and after too many overflows. */
    private final BitSet wide = new BitSet();
    /** Gradients of which a magnitude has been seen, so that they have a factor. */
    private final BitSet known = new BitSet();

    private final BitSet fallen = new BitSet();
    private final int[] exponents;
    private final int[] overflows;
    /** By parameter, the step of the last overflow. */
    private final long[] overflown;
    /** Of all gradients. */
    private long overflowCount;

    TravelTypes(RangeRules rules, BitSet watched, int parameters) {
        this.rules = rules;
        this.watched = watched;
        this.exponents = new int[parameters];
        this.overflows = new int[parameters];
        this.overflown = new long[parameters];
        wide.or(watched);
    }

    boolean isWatched(int parameter) {
        return watched.get(parameter);
    }

    boolean isWide(int parameter) {
        return wide.get(parameter);
    }

    /** A copy of the parameters whose gradients travel in their own type. */
    BitSet wide() {
        return (BitSet) wide.clone();
    }

    boolean areWide(BitSet parameters) {
        return wide.equals(parameters);
    }

    int countWide() {
        return wide.cardinality();
    }

    boolean hasFallen(int parameter) {
        return fallen.get(parameter);
    }

    /** The first watched parameter from this one on; -1 if there is none. */
    int nextWatched(int from) {
        return watched.nextSetBit(from);
    }

    int exponent(int parameter) {
        return exponents[parameter];
    }

    int overflows(int parameter) {
        return overflows[parameter];
    }

    /** The number of overflows of all gradients, also those before the ranks began anew. */
    long overflows() {
        return overflowCount;
    }

    /** Forgets the factors and who has fallen back. */
    void beginAnew() {
        known.clear();
        fallen.clear();
        Arrays.fill(exponents, 0);
        Arrays.fill(overflows, 0);
        wide.or(watched);
    }

    /** @return whether the gradient travels in its own type from now on */
    boolean overflow(int parameter, long step) {
        overflowCount++;
        exponents[parameter] = rules.exponentAfterOverflow(exponents[parameter]);
        overflows[parameter] = rules.overflows(overflows[parameter], step - overflown[parameter]);
        overflown[parameter] = step;
        if (!rules.fallsBack(overflows[parameter])) {
            return false;
        }
        fallen.set(parameter);
        wide.set(parameter);
        return true;
    }

    /** The greatest magnitude of a gradient on all ranks. */
    void seen(int parameter, float magnitude) {
        exponents[parameter] = rules.exponentFor(magnitude);
        known.set(parameter);
    }

    /** Every gradient that has a factor, and has not overflown too often, travels as float16. */
    void narrow() {
        wide.clear();
        wide.or(watched);
        wide.andNot(known);
        wide.or(fallen);
    }
}
