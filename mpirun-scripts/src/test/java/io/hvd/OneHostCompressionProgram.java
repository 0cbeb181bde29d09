package io.hvd;

import io.hvd.tensor.Tensor;

/** Sums what a float16 cannot hold, three times over, as float16 if that is how it travels. */
public final class OneHostCompressionProgram {
    private OneHostCompressionProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            AllreduceOptions fp16 = AllreduceOptions.sum().withCompression(Compression.FP16);
            float sum = 0;
            for (int step = 0; step < 3; step++) {
                sum = hvd.allreduce("large", Tensor.of(40_000f), fp16).item();
            }
            System.out.println("rank " + hvd.rank() + " has " + sum);
        }
    }
}
