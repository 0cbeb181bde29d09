package io.hvd.optimizer.arrays;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** Refuses constants with which an optimizer on plain arrays could not train. */
public final class ArrayConstants {
    private ArrayConstants() {}

    public static void requireShare(String optimizer, String name, double value) {
        require(value >= 0 && value < 1, optimizer, name, value, "at least 0 and less than 1");
    }

    public static double requireRate(String optimizer, double value) {
        requireNotNegative(optimizer, "learning rate", value);
        return value;
    }

    public static void requireNotNegative(String optimizer, String name, double value) {
        require(value >= 0, optimizer, name, value, "at least 0");
    }

    public static void requirePositive(String optimizer, String name, double value) {
        require(value > 0, optimizer, name, value, "more than 0");
    }

    private static void require(boolean valid, String optimizer, String name, double value, String expected) {
        if (!valid || Float.isInfinite((float) value)) { // the arrays are of floats
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, optimizer + ": " + name + " is " + value + ", expected " + expected);
        }
    }
}
