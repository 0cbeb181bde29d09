package io.hvd;

import io.hvd.tensor.Tensor;

/** Sums what a float16 cannot hold, 1 + 2^-12, three times over, as float16 if that is how it travels. */
public final class OneHostCompressionProgram {
    private OneHostCompressionProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            AllreduceOptions how = AllreduceOptions.sum().withCompression(Compression.valueOf(args[0]));
            float sum = 0;
            for (int step = 0; step < 3; step++) {
                sum = hvd.allreduce("large", Tensor.of(1 + 0x1p-12f), how).item();
            }
            System.out.println("rank " + hvd.rank() + " has " + sum);
        }
    }
}
