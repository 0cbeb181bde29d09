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

/**
 * One collective; every rank says what the last element came to and how many bytes have left its host for it. Arguments:
 * the operation, and the number of floats that it is about on every rank, a multiple of the number of ranks.
 */
final class BytesProgram {
    private static final Path SENT = Path.of("/sys/class/net/eth0/statistics/tx_bytes");

    private BytesProgram() {}

    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            int floats = Integer.parseInt(args[1]);
            hvd.barrier();
            long before = sent();
            float last = last(run(hvd, args[0], floats));
            hvd.barrier();
            System.out.println("rank " + hvd.rank() + " last " + last + " sent " + (sent() - before) + " bytes");
        }
    }

    private static Tensor run(HvdContext hvd, String operation, int floats) {
        Tensor whole = filled(hvd, floats);
        return switch (operation) {
            case "allreduce" -> {
                hvd.allreduceInPlace("large", whole, AllreduceOptions.sum());
                yield whole;
            }
            case "broadcast" -> {
                hvd.broadcastInPlace("large", whole, 1);
                yield whole;
            }
            case "allgather" -> hvd.allgather("large", filled(hvd, floats / hvd.size()));
            case "reducescatter" -> hvd.reducescatter("large", whole, AllreduceOptions.sum());
            default -> throw new IllegalArgumentException(operation);
        };
    }

    private static Tensor filled(HvdContext hvd, int floats) {
        float[] values = new float[floats];
        Arrays.fill(values, hvd.rank() + 1);
        return Tensor.wrap(values, DType.FLOAT32, Shape.of(floats));
    }

    private static float last(Tensor tensor) {
        return tensor.toFloatArray()[(int) tensor.elements() - 1];
    }

    private static long sent() throws IOException {
        return Long.parseLong(Files.readString(SENT).strip());
    }
}
