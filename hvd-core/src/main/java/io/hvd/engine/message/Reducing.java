package io.hvd.engine.message;

import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;

/** Requests of collectives that combine the ranks' elements. */
public sealed interface Reducing extends Request.OfTensor {
    /** The reduction, still without a divisor, which is decided for all ranks together. */
    Reduction how();

    @Override
    default long wireBytes() {
        return shape().elements() * how().wire().bytes();
    }

    /**
     * Whether this is a request for the same reduction of a tensor of the same type and shape in the host's memory,
     * without a group.
     *
     * @param root compared for a {@link Reduce} only
     */
    default boolean isReduction(OpKind asked, Tensor tensor, int root) {
        return kind() == asked && group().isNone() && payload().isHostTensor(tensor);
    }

    record Allreduce(String name, Payload payload, Reduction how, Group group) implements Reducing {
        @Override
        public OpKind kind() {
            return OpKind.ALLREDUCE;
        }

        @Override
        public boolean fusesWith(Request other) {
            return other instanceof Allreduce another
                    && dtype() == another.dtype()
                    && device().equals(another.device())
                    && how.equals(another.how);
        }

        @Override
        public Allreduce on(Device place) {
            return new Allreduce(name, payload.on(place), how, group);
        }
    }

    record Reducescatter(String name, Payload payload, Reduction how, Group group) implements Reducing {
        @Override
        public OpKind kind() {
            return OpKind.REDUCESCATTER;
        }

        @Override
        public Reducescatter on(Device place) {
            return new Reducescatter(name, payload.on(place), how, group);
        }
    }

    record Reduce(String name, Payload payload, Reduction how, int root) implements Reducing, Request.Rooted {
        @Override
        public OpKind kind() {
            return OpKind.REDUCE;
        }

        @Override
        public boolean isReduction(OpKind asked, Tensor tensor, int itsRoot) {
            return root == itsRoot && Reducing.super.isReduction(asked, tensor, itsRoot);
        }

        @Override
        public Reduce on(Device place) {
            return new Reduce(name, payload.on(place), how, root);
        }
    }
}
