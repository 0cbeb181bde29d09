package io.hvd.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * A run of elements in the memory of one GPU, and their destination, which is the same place or one that does not
 * overlap.
 *
 * @param from device address of the first element to read, a multiple of the element's size
 * @param to device address of the first element to write, a multiple of the element's size
 */
public record DeviceSegment(long from, long to, long count) {
    public DeviceSegment {
        if (count < 0 || (count > 0 && (from == 0 || to == 0))) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a segment of " + count + " elements from address " + from + " to address " + to);
        }
    }
}
