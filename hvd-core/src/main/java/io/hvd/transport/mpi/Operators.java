package io.hvd.transport.mpi;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The reductions that MPI may carry out, because its operator gives the same bits as hvd's own reduction. They are the
 * same on all ranks, whatever their processors and builds of Open MPI.
 */
final class Operators {
    /**
     * The reductions that MPI is tested for. Its standard does not say what a sum does that overflows, nor a minimum
     * with NaN: Open MPI's op/avx saturates integers of 8 and 16 bits in whole vectors and lets them wrap around in the
     * rest. MPI has no 16-bit float, and its Java bindings have no signed byte.
     */
    static final List<Operator> CANDIDATES = candidates();

    private final List<Operator> trusted;

    private Operators(List<Operator> trusted) {
        this.trusted = trusted;
    }

    /** An operation on the elements of a type. */
    record Operator(DType type, ReduceOp op) {
        /** By hand, as is the number: the JVM takes as long for a record's own, the first time, as for all else here. */
        @Override
        public boolean equals(Object other) {
            return other instanceof Operator that && type == that.type && op == that.op;
        }

        @Override
        public int hashCode() {
            return 31 * type.ordinal() + op.ordinal();
        }

        @Override
        public String toString() {
            return type + " " + op;
        }
    }

    /** MPI_Reduce_local, which combines elements with the same loops as MPI_Allreduce. */
    interface Local {
        /** Combines the first {@code count} elements of both buffers into the second. */
        void reduce(Operator operator, ByteBuffer operand, ByteBuffer result, int count);
    }

    /** Says whether an operator is right on this rank. */
    interface Checker {
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
     * The operators that are right on all ranks; all ranks call this together.
     *
     * @param exchange gives every rank the bytes of all ranks
     */
    static Operators agreed(Checker checker, Function<byte[], List<byte[]>> exchange) {
        long right = 0;
        for (int i = 0; i < CANDIDATES.size(); i++) {
            right |= checker.isRight(CANDIDATES.get(i)) ? 1L << i : 0;
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

    boolean take(DType type, ReduceOp op) {
        return take(new Operator(type, op));
    }

    boolean take(Operator operator) {
        return trusted.contains(operator);
    }

    /** The candidates that hvd reduces itself, because MPI is wrong on some rank. */
    List<Operator> refused() {
        List<Operator> refused = new ArrayList<>(CANDIDATES);
        refused.removeAll(trusted);
        return refused;
    }
}
