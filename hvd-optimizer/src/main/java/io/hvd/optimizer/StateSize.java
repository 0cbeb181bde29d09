package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** An optimizer gives its state as one Java array, which has a limit. */
public final class StateSize {
    /** The bytes that every virtual machine can allocate. */
    public static final int LARGEST = Integer.MAX_VALUE - 8;

    private StateSize() {}

    /**
     * The length of the array.
     *
     * @param optimizer for the message
     * @throws HvdException if no array is as long
     */
    public static int require(String optimizer, long bytes) {
        return require(optimizer, bytes, LARGEST);
    }

    /** Requires that a state fits below another limit. */
    public static int require(String optimizer, long bytes, int most) {
        if (bytes > most) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the state of " + optimizer + " has " + bytes + " bytes, and saveState gives at most " + most
                            + ": take namedState() or wholeState(), which have no limit");
        }
        return (int) bytes;
    }
}
