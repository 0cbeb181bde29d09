package io.hvd.optimizer;

import io.hvd.ProcessSet;

/** The wrapped optimizer, and what its kind needs to know of the {@link DistributedOptimizer} around it. */
class WrappedOptimizer {
    final Optimizer inner;

    private WrappedOptimizer(Optimizer inner) {
        this.inner = inner;
    }

    static WrappedOptimizer of(Optimizer inner) {
        if (inner instanceof ShardedOptimizer sharded) {
            return new Sharded(sharded);
        }
        return inner instanceof ArrayOptimizer arrays ? new OnArrays(arrays) : new WrappedOptimizer(inner);
    }

    /** The holder of the gradients that this rank steps by. */
    Object stepping() {
        return inner;
    }

    /** Whether gradients are arrays, which do not say whether backward has written into them. */
    boolean isOnArrays() {
        return false;
    }

    void wrappedBy(DistributedOptimizer latest) {}

    boolean isWrappedBy(DistributedOptimizer one) {
        return true;
    }

    void releasedBy(DistributedOptimizer closed) {}

    /** @param prefix what the names of the optimizer's collectives begin with */
    void scope(String prefix) {}

    /** Finds out whether a global rank has the whole of the state. A collective, if the state is shared out. */
    boolean hasWhole(int root) {
        return true;
    }

    void rebind(ProcessSet ranks) {}

    private static final class Sharded extends WrappedOptimizer {
        private final ShardedOptimizer sharded;

        Sharded(ShardedOptimizer sharded) {
            super(sharded);
            this.sharded = sharded;
        }

        @Override
        Object stepping() {
            return sharded.state();
        }

        @Override
        void scope(String prefix) {
            sharded.scope(prefix);
        }

        @Override
        boolean hasWhole(int root) {
            return sharded.hasWhole(root);
        }

        @Override
        void rebind(ProcessSet ranks) {
            sharded.rebind(ranks);
        }
    }

    private static final class OnArrays extends WrappedOptimizer {
        private final ArrayParameters arrays;

        OnArrays(ArrayOptimizer optimizer) {
            super(optimizer);
            this.arrays = optimizer.arrays();
        }

        @Override
        boolean isOnArrays() {
            return true;
        }

        @Override
        void wrappedBy(DistributedOptimizer latest) {
            arrays.wrappedBy(latest);
        }

        @Override
        boolean isWrappedBy(DistributedOptimizer one) {
            return arrays.areWrappedBy(one);
        }

        @Override
        void releasedBy(DistributedOptimizer closed) {
            arrays.releasedBy(closed);
        }
    }
}
