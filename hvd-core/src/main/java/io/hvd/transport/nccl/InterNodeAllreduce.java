package io.hvd.transport.nccl;

import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.PinnedStage;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.DeviceWait;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.natives.NcclCommunicator;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * The part of a hierarchical allreduce between nodes: reduces a rank's chunk with the chunks of the ranks at the same
 * place on the other nodes. Only the communication thread uses it.
 */
sealed interface InterNodeAllreduce {
    /** The elements of one chunk on the device. @param slot 0 or 1, the number of its stage */
    record Chunk(long address, long elements, int slot) {
        int bytes(Reduction how) {
            return Math.toIntExact(elements * how.wire().bytes());
        }
    }

    /** The largest number of elements of a chunk; a whole number of vectors. */
    long mostElements(DType type);

    /** Queues the work that needs no other rank. */
    void prepare(Chunk chunk, Reduction how);

    /** Queues the reduction of a chunk in place, after one {@link #prepare} of it. */
    void reduce(Chunk chunk, Reduction how);

    void report(Activities to);

    /** Throws if NCCL has noticed an error. */
    void requireSound();

    void close();

    void abandon();

    /** Reduces by NCCL; the data stays on the device. */
    record ByNccl(NcclCommunicator nccl) implements InterNodeAllreduce {
        @Override
        public long mostElements(DType type) {
            return Long.MAX_VALUE;
        }

        @Override
        public void prepare(Chunk chunk, Reduction how) {
            // NCCL reads the chunk in place.
        }

        @Override
        public void reduce(Chunk chunk, Reduction how) {
            nccl.with(
                    how.op().arithmeticOn(how.wire()),
                    operator ->
                            nccl.allReduce(chunk.address(), chunk.address(), chunk.elements(), how.wire(), operator));
        }

        @Override
        public void report(Activities to) {
            // The host does not see how long NCCL works on the device.
        }

        @Override
        public void requireSound() {
            nccl.requireSound();
        }

        @Override
        public void close() {
            nccl.close();
        }

        @Override
        public void abandon() {
            nccl.abort();
        }
    }

    /** Reduces through pinned memory and the host's data plane, while the device works on the next chunk. */
    final class ThroughHost implements InterNodeAllreduce {
        private final RankGpu gpu;
        private final Collectives host;
        /** The communicator of the node's ranks, whose work comes before the copy. */
        private final NcclCommunicator inside;

        private final Runnable progress;
        private final DeviceWait wait = new DeviceWait();
        private final CudaEvent[] arrived = new CudaEvent[2];
        private Activities activities = Activities.UNHEARD;

        /**
         * @param host the data plane of the ranks at the same place on all nodes
         * @param progress moves on messages that this rank has sent to other hosts, and for which another rank may be
         *     waiting
         */
        ThroughHost(RankGpu gpu, Collectives host, NcclCommunicator inside, Runnable progress) {
            this.progress = progress;
            this.gpu = gpu;
            this.host = host;
            this.inside = inside;
            // Made here, because no memory may be allocated once ranks of this process have launched NCCL's kernels.
            gpu.pinned(0);
            gpu.pinned(1);
        }

        @Override
        public long mostElements(DType type) {
            return gpu.piece(type);
        }

        @Override
        public void prepare(Chunk chunk, Reduction how) {
            gpu.pinned(chunk.slot()).copyFromDevice(chunk.address(), 0, chunk.bytes(how), gpu.stream());
            arrived[chunk.slot()] = gpu.recordEvent();
        }

        @Override
        public void reduce(Chunk chunk, Reduction how) {
            await(arrived[chunk.slot()]);
            PinnedStage pinned = gpu.pinned(chunk.slot());
            Tensor stage = Tensor.wrap(
                    pinned.buffer().duplicate().order(ByteOrder.nativeOrder()).limit(chunk.bytes(how)),
                    how.wire(),
                    Shape.of(chunk.elements()));
            host.allreduce(List.of(stage), List.of(stage), how.unscaled());
            pinned.copyToDevice(0, chunk.address(), chunk.bytes(how), gpu.stream());
        }

        /** Waits for the copy, but not for ever if another rank of the node fails. The other nodes' ranks wait too. */
        private void await(CudaEvent event) {
            long begun = activities.begin();
            while (!event.isReached()) {
                inside.requireSound();
                progress.run();
                LockSupport.parkNanos(wait.nanosUntilNextLook(true));
            }
            event.close();
            activities.end("WAIT_FOR_DATA", begun);
        }

        @Override
        public void report(Activities to) {
            activities = to;
            host.report(to);
        }

        @Override
        public void requireSound() {
            // Errors on the host are thrown where they happen.
        }

        @Override
        public void close() {
            host.close();
        }

        @Override
        public void abandon() {
            host.abandon();
        }
    }
}
