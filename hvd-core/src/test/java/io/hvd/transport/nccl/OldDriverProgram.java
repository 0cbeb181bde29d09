package io.hvd.transport.nccl;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;

/** Submits a tensor on this rank's GPU, at an address that nobody is to touch. */
public final class OldDriverProgram {
    private OldDriverProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            Tensor onGpu = Tensor.onDevice(0x7f00_dead_0000L, hvd.device(), 0, DType.FLOAT32, Shape.of(3));
            try {
                hvd.allreduceInPlace("g", onGpu, AllreduceOptions.sum());
            } catch (HvdException e) {
                System.out.println("REFUSED on " + hvd.device() + ": " + e.getMessage());
            }
            System.out.println("NEXT "
                    + hvd.allreduce("n", Tensor.of(1f), AllreduceOptions.sum()).item());
        }
    }
}
