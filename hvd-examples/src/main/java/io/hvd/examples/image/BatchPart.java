package io.hvd.examples.image;

import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/** Some neighbouring samples of a batch. @param from the first one's place */
record BatchPart(int from, int size) {
    /** Divides a batch into parts of at most {@code most} samples, whose sizes differ by one at most. */
    static List<BatchPart> of(int batchSize, int most) {
        int count = (batchSize + most - 1) / most;
        return IntStream.range(0, count)
                .mapToObj(i -> between((long) batchSize * i / count, (long) batchSize * (i + 1) / count))
                .toList();
    }

    private static BatchPart between(long from, long to) {
        return new BatchPart((int) from, (int) (to - from));
    }

    /** The part of a tensor of the batch, in the same memory. */
    Tensor of(Tensor batch) {
        return batch.narrow(0, from, size);
    }
}
