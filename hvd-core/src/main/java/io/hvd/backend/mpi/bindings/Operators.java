package io.hvd.backend.mpi.bindings;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The reductions that MPI may carry out, because its operator comes to the bits that hvd's own reduction comes to. The
 * same on all ranks, whatever their processors and builds of Open MPI: all of them do the same.
 */
final class Operators {
    /**
     * What is asked of MPI at all. Its standard leaves open what a sum does that overflows, and a minimum with NaN: Open
     * MPI's op/avx saturates integers of 8 and 16 bits in whole vectors and lets them wrap around in the rest. It has no
     * 16-bit float, and its Java bindings have no signed byte.
     */
    static final List<Operator> CANDIDATES = candidates();

    private final List<Operator> trusted;

    private Operators(List<Operator> trusted) {
        this.trusted = trusted;
    }

    /** An operation on the elements of a type. */
    record Operator(DType type, ReduceOp op) {
        @Override
        public String toString() {
            return type + " " + op;
        }
    }

    /** MPI_Reduce_local, with what MPI_Allreduce combines elements with too. */
    interface Local {
        /** Combines the first elements of both into the second. */
        void reduce(Operator operator, ByteBuffer operand, ByteBuffer result, int count);
    }

    /** Says whether an operator is right on this rank. */
    interface Judge {
        boolean isRight(Operator operator);
    }

    private static List<Operator> candidates() {
        List<Operator> all = new ArrayList<>();
        for (DType type : DType.values()) {
            for (ReduceOp op : candidates(type)) {
                all.add(new Operator(type, op));
            }
        }
        return List.copyOf(all);
    }

    private static List<ReduceOp> candidates(DType type) {
        return switch (type) {
            case FLOAT32, FLOAT64 -> List.of(ReduceOp.SUM, ReduceOp.PRODUCT);
            case INT32, INT64 -> List.of(ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX);
            // Its sum and its product are these two.
            case BOOL -> List.of(ReduceOp.MIN, ReduceOp.MAX);
            case INT8, UINT8, INT16, UINT16, FLOAT16, BFLOAT16 -> List.of();
        };
    }

    /**
     * Those that are right on all ranks. All ranks come here together.
     *
     * @param exchange gives every rank everybody's bytes
     */
    static Operators agreed(Judge judge, Function<byte[], List<byte[]>> exchange) {
        long right = 0;
        for (int i = 0; i < CANDIDATES.size(); i++) {
            right |= judge.isRight(CANDIDATES.get(i)) ? 1L << i : 0;
        }
        long mine = right;
        for (byte[] theirs : exchange.apply(MessageWriter.encode(out -> out.writeLong(mine)))) {
            right &= MessageReader.decode("the operators of a rank's MPI", theirs, MessageReader::readLong);
        }
        List<Operator> trusted = new ArrayList<>();
        for (int i = 0; i < CANDIDATES.size(); i++) {
            if ((right & 1L << i) != 0) {
                trusted.add(CANDIDATES.get(i));
            }
        }
        return new Operators(List.copyOf(trusted));
    }

    boolean take(Reduction how) {
        return take(new Operator(how.wire(), how.op().arithmeticOn(how.wire())));
    }

    boolean take(Operator operator) {
        return trusted.contains(operator);
    }

    /** Candidates that hvd reduces itself, since MPI does not on some rank as it should. */
    List<Operator> refused() {
        List<Operator> refused = new ArrayList<>(CANDIDATES);
        refused.removeAll(trusted);
        return refused;
    }
}
