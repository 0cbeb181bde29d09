package io.hvd.contract.program;

/** Which values tensors hold, so that a plain loop knows the result, whatever order the ranks are combined in. */
public enum Recipe {
    /** Any bits: integers overflow, floats are NaNs, infinities and everything else. */
    WILD,
    /** Whole numbers so small that every sum of them, doubled or halved, is exact in every type. */
    SMALL,
    /** Multiples of twice every number of ranks: their average is a whole, even number. */
    DIVISIBLE,
    /** Powers of two with either sign, for products. */
    POWERS,
    /** Floats between -1000 and 1000: sums are as exact as the type. */
    ANY,
    /** Small whole numbers among zeros of both signs, infinities and NaNs. */
    SPECIAL
}
