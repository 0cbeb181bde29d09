package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** One allreduce; every rank says how many bytes have left its host for it. Argument: number of floats. */
final class BytesProgram {
    private static final Path SENT = Path.of("/sys/class/net/eth0/statistics/tx_bytes");

    private BytesProgram() {}

    public static void main(String[] args) throws IOException {
        float[] values = new float[Integer.parseInt(args[0])];
        try (HvdContext hvd = Hvd.init()) {
            Arrays.fill(values, hvd.rank() + 1);
            Tensor tensor = Tensor.wrap(values, DType.FLOAT32, Shape.of(values.length));
            hvd.barrier();
            long before = sent();
            hvd.allreduceInPlace("large", tensor, AllreduceOptions.sum());
            hvd.barrier();
            System.out.println("rank " + hvd.rank() + " sum " + values[values.length - 1] + " sent " + (sent() - before)
                    + " bytes");
        }
    }

    private static long sent() throws IOException {
        return Long.parseLong(Files.readString(SENT).strip());
    }
}
