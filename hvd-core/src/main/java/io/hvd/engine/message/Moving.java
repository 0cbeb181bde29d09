package io.hvd.engine.message;

import io.hvd.spi.OpKind;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.Optional;

/** Requests of collectives that pass elements on unchanged. */
public sealed interface Moving extends Request {
    /** One half of a transfer, in which only two ranks take part. */
    sealed interface Transfer extends Moving, Request.OfTensor {
        /** The rank at the other end. */
        int peer();
    }

    record Allgather(String name, Payload payload, Group group) implements Moving, Request.OfTensor {
        @Override
        public OpKind kind() {
            return OpKind.ALLGATHER;
        }

        @Override
        public Allgather on(Device place) {
            return new Allgather(name, payload.on(place), group);
        }
    }

    record Gather(String name, Payload payload, int root) implements Moving, Request.OfTensor, Request.Rooted {
        @Override
        public OpKind kind() {
            return OpKind.GATHER;
        }

        @Override
        public Gather on(Device place) {
            return new Gather(name, payload.on(place), root);
        }
    }

    record Broadcast(String name, Payload payload, int root) implements Moving, Request.OfTensor, Request.Rooted {
        @Override
        public OpKind kind() {
            return OpKind.BROADCAST;
        }

        @Override
        public boolean fusesWith(Request other) {
            return other instanceof Broadcast another
                    && dtype() == another.dtype()
                    && device().equals(another.device())
                    && root == another.root;
        }

        @Override
        public Broadcast on(Device place) {
            return new Broadcast(name, payload.on(place), root);
        }
    }

    /** @param given type, shape and device of the root's tensor; empty on the other ranks */
    record Scatter(String name, Optional<Payload> given, int root) implements Moving, Request.Rooted {
        @Override
        public OpKind kind() {
            return OpKind.SCATTER;
        }

        @Override
        public long wireBytes() {
            return given.map(Payload::bytes).orElse(0L);
        }

        @Override
        public String detail() {
            return given.map(Payload::detail).orElse("");
        }

        @Override
        public Scatter on(Device place) {
            return new Scatter(name, given.map(payload -> payload.on(place)), root);
        }
    }

    /** @param rows number of rows for each rank */
    record Alltoall(String name, Payload payload, List<Long> rows) implements Moving, Request.OfTensor {
        public Alltoall {
            rows = List.copyOf(rows);
        }

        @Override
        public OpKind kind() {
            return OpKind.ALLTOALL;
        }

        @Override
        public Alltoall on(Device place) {
            return new Alltoall(name, payload.on(place), rows);
        }
    }

    record Send(String name, Payload payload, int peer) implements Transfer {
        @Override
        public OpKind kind() {
            return OpKind.SEND;
        }

        @Override
        public Send on(Device place) {
            return new Send(name, payload.on(place), peer);
        }
    }

    record Receive(String name, Payload payload, int peer) implements Transfer {
        @Override
        public OpKind kind() {
            return OpKind.RECEIVE;
        }

        @Override
        public Receive on(Device place) {
            return new Receive(name, payload.on(place), peer);
        }
    }
}
