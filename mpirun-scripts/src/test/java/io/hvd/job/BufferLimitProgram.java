package io.hvd.job;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.tensor.Tensor;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** Rank 1 takes what its limit leaves it, but for 1,000 bytes; then a reducescatter needs a buffer. */
public final class BufferLimitProgram {
    private BufferLimitProgram() {}

    /** @param args the limit that the environment has set; 0 ends well and holds a buffer of 4,321 bytes */
    public static void main(String[] args) {
        int limit = Integer.parseInt(args[0]);
        ByteBuffer held;
        try (HvdContext hvd = Hvd.init()) {
            System.out.print(hvd.memory());
            int free = limit == 0 ? 5321 : (int) (limit - hvd.memory().bytes());
            held = hvd.rank() == 1 ? BufferLedger.PROCESS.direct(Owner.TENSORS, free - 1000) : null;
            float[] mine = {hvd.rank(), 10, 20, 30};
            System.out.println("SUM "
                    + hvd.reducescatter("halves", Tensor.of(mine), AllreduceOptions.sum())
                            .elements());
        }
        Reference.reachabilityFence(held);
    }
}
