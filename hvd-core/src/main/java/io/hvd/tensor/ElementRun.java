package io.hvd.tensor;

/**
 * Elements of a tensor that lie one behind the other in memory.
 *
 * @param from the first one, counted from 0
 * @param elements how many; may be 0
 */
public record ElementRun(long from, long elements) {
    /** All elements of a tensor of this shape. */
    public static ElementRun all(Shape shape) {
        return new ElementRun(0, shape.elements());
    }

    /** Whether a tensor of this shape has them. */
    public boolean isWithin(Shape shape) {
        return from >= 0 && elements >= 0 && elements <= shape.elements() - from;
    }

    /** The end of the run, at which the element behind it lies. */
    public long end() {
        return from + elements;
    }
}
