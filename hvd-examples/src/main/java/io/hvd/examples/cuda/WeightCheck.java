package io.hvd.examples.cuda;

import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** Checks whether all ranks have ended with the same weights, bit by bit. @param checksums the checksums by rank */
public record WeightCheck(long[] checksums) {
    /** Compares the ranks' weights; every rank calls it, after the work that writes the weights has ended. */
    static WeightCheck of(HvdContext hvd, List<DeviceParameter> parameters) {
        CRC32 mine = new CRC32();
        for (DeviceParameter parameter : parameters) {
            float[] values = parameter.read();
            ByteBuffer bytes = ByteBuffer.allocate(4 * values.length);
            bytes.asFloatBuffer().put(values);
            mine.update(bytes);
        }
        return of(hvd, mine.getValue());
    }

    /** Compares checksums of the ranks' weights; every rank calls it. */
    public static WeightCheck of(HvdContext hvd, long checksum) {
        return new WeightCheck(
                (long[]) hvd.allgather("weights", Tensor.of(checksum)).toArray());
    }

    public boolean areEqual() {
        return Arrays.stream(checksums).distinct().count() == 1;
    }

    @Override
    public String toString() {
        return areEqual()
                ? String.format("weights of all ranks are equal, crc32 %08x", checksums[0])
                : "the weights differ, crc32 by rank: "
                        + Arrays.stream(checksums).mapToObj(Long::toHexString).toList();
    }
}
