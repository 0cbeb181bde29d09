package io.hvd.examples.training;

import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Locale;
import java.util.zip.CRC32;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.TensorVector;

/** Checks whether all ranks have ended with the same weights, bit by bit. @param checksums the checksums by rank */
public record WeightCheck(long[] checksums) {
    /** Compares the parameters of a LibTorch model, bit by bit; every rank calls it. */
    public static WeightCheck of(HvdContext hvd, Module model) {
        CRC32 sum = new CRC32();
        try (PointerScope scope = new PointerScope()) {
            TensorVector parameters = model.parameters();
            for (long i = 0; i < parameters.size(); i++) {
                org.bytedeco.pytorch.Tensor values =
                        parameters.get(i).detach().cpu().contiguous();
                sum.update(new BytePointer(values.data_ptr())
                        .capacity(values.nbytes())
                        .asByteBuffer());
            }
        }
        return of(hvd, sum.getValue());
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
                ? String.format(Locale.ROOT, "weights of all ranks are equal, crc32 %08x", checksums[0])
                : "the weights differ, crc32 by rank: "
                        + Arrays.stream(checksums).mapToObj(Long::toHexString).toList();
    }
}
