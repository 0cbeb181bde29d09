package io.hvd.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import java.util.Optional;

/**
 * The conversion of elements, with the same bits as {@link io.hvd.kernel.Converter}. Elements are multiplied, as
 * double if one of the types is float64 or an integer and as float otherwise, and rounded once to the other type.
 * Integers are truncated. With a factor of 1 nothing is multiplied.
 *
 * <p>If a NaN is multiplied or results, its bits are those of an x86-64 CPU.
 */
public record Conversion(DType from, DType to, double scale) {
    public static Conversion copy(DType type) {
        return new Conversion(type, type, 1.0);
    }

    /**
     * True if a multiplication gives the same result as the scale. It does for quotients of integers of up to 32 bits:
     * with a factor that is a little more than 1/divisor, a multiple of the divisor is not truncated to less than its
     * quotient, and for other values the error stays far below the next integer.
     *
     * @param type the type that is scaled
     */
    public static boolean multiplies(DType type, Scale scale) {
        return type.isFloating()
                || scale.divisor() == 1
                || scale.isOne()
                || (scale.factor() == 1 && type.bytes() <= Integer.BYTES);
    }

    /** The conversion for a scale for which {@link #multiplies} is true. */
    public static Conversion scaled(DType from, DType to, Scale scale) {
        boolean divides = !from.isFloating() && scale.divisor() != 1 && !scale.isOne();
        return new Conversion(from, to, divides ? Math.nextUp(scale.asFactor()) : scale.asFactor());
    }

    /** The reason why there is no kernel for it; empty if there is one. The ranks ask during negotiation. */
    public Optional<String> refused() {
        if (from != to && !narrows(from, to) && !narrows(to, from)) {
            return Optional.of("no GPU kernel turns " + from + " into " + to
                    + ": float32 and float64 become float16 or bfloat16, and back");
        }
        return isCopy() ? Optional.empty() : from.refusesScaling();
    }

    /**
     * @param checked whether the written elements are checked, which a plain copy does not do
     * @throws HvdException if {@link #refused} gives a reason
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
