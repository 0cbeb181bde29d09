package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.Locale;

/**
 * A collective that check G7 measures: its call, the result that each element must have, and how its bandwidth counts.
 *
 * <p>The values are small whole numbers that depend on the rank and on the element, so that float32 sums are exact.
 * The size of a call is that of the largest buffer of a rank, as in nccl-tests. All buffers consist of blocks, one for
 * each rank or, for allreduce and broadcast, one in all.
 */
enum SweepCollective {
    ALLREDUCE {
        @Override
        double busFactor(int ranks) {
            return 2.0 * (ranks - 1) / ranks;
        }

        @Override
        Tensor call(HvdContext hvd, String name, Tensor tensor) {
            return hvd.allreduceInPlace(name, tensor, AllreduceOptions.sum());
        }

        @Override
        int expected(int rank, int ranks, int block, int at) {
            return sum(ranks, at);
        }
    },
    ALLGATHER {
        @Override
        Tensor call(HvdContext hvd, String name, Tensor tensor) {
            return hvd.allgather(name, tensor);
        }

        @Override
        int expected(int rank, int ranks, int block, int at) {
            return value(at / block, at % block);
        }
    },
    REDUCESCATTER {
        @Override
        Tensor call(HvdContext hvd, String name, Tensor tensor) {
            return hvd.reducescatter(name, tensor, AllreduceOptions.sum());
        }

        @Override
        int expected(int rank, int ranks, int block, int at) {
            return sum(ranks, rank * block + at);
        }
    },
    BROADCAST {
        @Override
        double busFactor(int ranks) {
            return 1;
        }

        @Override
        Tensor call(HvdContext hvd, String name, Tensor tensor) {
            return hvd.broadcastInPlace(name, tensor, 0);
        }

        @Override
        int expected(int rank, int ranks, int block, int at) {
            return value(0, at);
        }
    },
    ALLTOALL {
        @Override
        Tensor call(HvdContext hvd, String name, Tensor tensor) {
            return hvd.alltoall(name, tensor).output();
        }

        @Override
        int expected(int rank, int ranks, int block, int at) {
            return value(at / block, rank * block + at % block);
        }
    };

    private static final int PERIOD = 7;

    /**
     * The share of the size that has to pass each rank's link: algorithm bandwidth times this is bus bandwidth. These
     * are the factors in the page on performance of nccl-tests.
     */
    double busFactor(int ranks) {
        return (ranks - 1) / (double) ranks;
    }

    abstract Tensor call(HvdContext hvd, String name, Tensor tensor);

    /** The value of element {@code at} of this rank's result. @param block elements in a block */
    abstract int expected(int rank, int ranks, int block, int at);

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    private boolean isDivided() {
        return this != ALLREDUCE && this != BROADCAST;
    }

    /** The elements of a block if a call has this size; 0 if that is less than one element for each rank. */
    int block(long bytes, int ranks) {
        return (int) (bytes / Float.BYTES / (isDivided() ? ranks : 1));
    }

    /** The bytes of the largest buffer. */
    long bytes(int block, int ranks) {
        return (long) block * (isDivided() ? ranks : 1) * Float.BYTES;
    }

    /** The elements that each rank passes in. */
    int inputs(int block, int ranks) {
        return this == REDUCESCATTER || this == ALLTOALL ? block * ranks : block;
    }

    /** The elements that each rank gets. */
    int outputs(int block, int ranks) {
        return this == ALLGATHER || this == ALLTOALL ? block * ranks : block;
    }

    /** The value that a rank passes in. */
    static int value(int rank, int at) {
        return 1 + (int) ((at + 3L * rank) % PERIOD);
    }

    private static int sum(int ranks, int at) {
        int sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += value(rank, at);
        }
        return sum;
    }
}
