package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** An optimizer that gives its state as one Java array has a limit; {@link NamedState} has none. */
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
                            + ": tensors with names have no limit, as namedState(), wholeState() and FullyShard.shards()"
                            + " give them");
        }
        return (int) bytes;
    }
}
