package io.hvd.backend.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Scale;
import java.util.Optional;

/**
 * What happens to elements on their way, as {@link io.hvd.tensor.Converter} does it, bit by bit: they are multiplied, as
 * double where one of the types is float64 or an integer and as float otherwise, and rounded once to the other type.
 * Integers are cut off. A factor of 1 multiplies nothing.
 *
 * <p>Where a NaN is multiplied or comes about, the bits are those of an x86-64 CPU.
 */
public record Conversion(DType from, DType to, double scale) {
    public static Conversion copy(DType type) {
        return new Conversion(type, type, 1.0);
    }

    /**
     * Whether a product comes to the same as the scale. It does for the quotients of integers of up to 32 bits: with a
     * factor that is a little more than 1/divisor, a multiple of the divisor is not cut off to less than its quotient, and
     * what is added to any other stays far below the next integer.
     *
     * @param type that is scaled
     */
    public static boolean multiplies(DType type, Scale scale) {
        return type.isFloating()
                || scale.divisor() == 1
                || scale.isOne()
                || (scale.factor() == 1 && type.bytes() <= Integer.BYTES);
    }

    /** For a scale that {@link #multiplies} is true of. */
    public static Conversion scaled(DType from, DType to, Scale scale) {
        boolean divides = !from.isFloating() && scale.divisor() != 1 && !scale.isOne();
        return new Conversion(from, to, divides ? Math.nextUp(scale.asFactor()) : scale.asFactor());
    }

    /** Why there is no kernel for it; empty if there is one. Ask at negotiation. */
    public Optional<String> refused() {
        if (from != to && !narrows(from, to) && !narrows(to, from)) {
            return Optional.of("no GPU kernel turns " + from + " into " + to
                    + ": float32 and float64 become float16 or bfloat16, and back");
        }
        return isCopy() ? Optional.empty() : from.refusesScaling();
    }

    /**
     * @param checked whether the elements written are looked at; a mere copy does not do that
     * @throws HvdException where {@link #refused} says why
     */
    Kernel kernel(boolean checked) {
        refused().ifPresent(why -> {
            throw new HvdException(ErrorId.UNSUPPORTED, why);
        });
        return isCopy() && !(checked && from.isFloating()) ? Kernel.copy(from.bytes()) : Kernel.converting(from, to);
    }

    private static boolean narrows(DType wide, DType half) {
        return wide.isFloating() && !wide.isHalf() && half.isHalf();
    }

    private boolean isCopy() {
        return from == to && scale == 1.0;
    }
}
