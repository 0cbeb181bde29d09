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

/**
 * One collective, of values that differ from rank to rank and from place to place; every rank says how many of those that
 * came out are wrong, and how many bytes have left its host for it. Arguments: the operation, and the number of floats
 * that it is about on every rank, a multiple of the number of ranks.
 */
final class BytesProgram {
    private static final Path SENT = Path.of("/sys/class/net/eth0/statistics/tx_bytes");
    /** Sums of a few such values are exact. */
    private static final int VALUES = 100_003;

    private static final int ROOT = 1;

    private BytesProgram() {}

    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            int floats = Integer.parseInt(args[1]);
            hvd.barrier();
            long before = sent();
            float[] found = run(hvd, args[0], floats).toFloatArray();
            hvd.barrier();
            long bytes = sent() - before;
            int wrong = wrong(hvd, args[0], found);
            System.out.println("rank " + hvd.rank() + " wrong " + wrong + " sent " + bytes + " bytes");
        }
    }

    private static Tensor run(HvdContext hvd, String operation, int floats) {
        int piece = floats / hvd.size();
        return switch (operation) {
            case "allreduce" -> hvd.allreduceInPlace("large", brought(hvd.rank(), 0, floats), AllreduceOptions.sum());
            case "broadcast" -> hvd.broadcastInPlace("large", brought(hvd.rank(), 0, floats), ROOT);
            case "allgather" -> hvd.allgather("large", brought(hvd.rank(), hvd.rank() * piece, piece));
            case "reducescatter" -> hvd.reducescatter("large", brought(hvd.rank(), 0, floats), AllreduceOptions.sum());
            default -> throw new IllegalArgumentException(operation);
        };
    }

    private static int wrong(HvdContext hvd, String operation, float[] found) {
        int wrong = 0;
        for (int i = 0; i < found.length; i++) {
            float expected =
                    switch (operation) {
                        case "allreduce" -> sum(hvd.size(), i);
                        case "broadcast" -> value(ROOT, i);
                        case "allgather" -> value(i / (found.length / hvd.size()), i);
                        default -> sum(hvd.size(), hvd.rank() * found.length + i);
                    };
            wrong += found[i] == expected ? 0 : 1;
        }
        return wrong;
    }

    private static Tensor brought(int rank, int first, int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = value(rank, first + i);
        }
        return Tensor.wrap(values, DType.FLOAT32, Shape.of(count));
    }

    private static float value(int rank, int place) {
        return (31 * rank + place) % VALUES;
    }

    private static float sum(int ranks, int place) {
        float sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += value(rank, place);
        }
        return sum;
    }

    private static long sent() throws IOException {
        return Long.parseLong(Files.readString(SENT).strip());
    }
}
