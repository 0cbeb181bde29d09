package io.hvd.backend.nccl;

import io.hvd.backend.cuda.CudaMark;
import io.hvd.backend.cuda.PinnedStage;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Combines a rank's chunk with those of the ranks at the same place on the other nodes. Communication thread. */
sealed interface NodeCrossing {
    /** Elements of one chunk on the device. @param slot 0 or 1, the stage that it lies on */
    record Chunk(long address, long elements, int slot) {
        int bytes(Reduction how) {
            return Math.toIntExact(elements * how.wire().bytes());
        }
    }

    /** The most elements of a chunk; a whole number of vectors. */
    long mostElements(DType type);

    /** Queues what can go ahead of the others. */
    void set(Chunk chunk, Reduction how);

    /** Queues, after one {@link #set} of the chunk, what puts the result in its place. */
    void combine(Chunk chunk, Reduction how);

    void report(Activities to);

    /** Throws if NCCL has found something wrong. */
    void requireSound();

    void close();

    void abandon();

    /** Everything stays on the device. */
    record ByNccl(NcclCommunicator nccl) implements NodeCrossing {
        @Override
        public long mostElements(DType type) {
            return Long.MAX_VALUE;
        }

        @Override
        public void set(Chunk chunk, Reduction how) {
            // It lies where NCCL takes it from.
        }

        @Override
        public void combine(Chunk chunk, Reduction how) {
            nccl.with(
                    how.op().arithmeticOn(how.wire()),
                    operator ->
                            nccl.allReduce(chunk.address(), chunk.address(), chunk.elements(), how.wire(), operator));
        }

        @Override
        public void report(Activities to) {
            // NCCL works on the device, unseen.
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

    /** Through pinned memory and the host's data plane, while the device goes on with the next chunk. */
    final class ThroughHost implements NodeCrossing {
        private static final long LOOK_MICROS = 20;

        private final RankGpu gpu;
        private final Collectives host;
        /** The communicator of the ranks of the node, whose work precedes the copy. */
        private final NcclCommunicator inside;

        private final Runnable progress;
        private final CudaMark[] arrived = new CudaMark[2];
        private Activities activities = Activities.UNHEARD;

        /**
         * @param host the data plane of the ranks at this place
         * @param progress moves on what this rank has sent between the hosts, for which a neighbour on the GPU may be waiting
         */
        ThroughHost(RankGpu gpu, Collectives host, NcclCommunicator inside, Runnable progress) {
            this.progress = progress;
            this.gpu = gpu;
            this.host = host;
            this.inside = inside;
        }

        @Override
        public long mostElements(DType type) {
            return gpu.piece(type);
        }

        @Override
        public void set(Chunk chunk, Reduction how) {
            gpu.pinned(chunk.slot()).copyFromDevice(chunk.address(), 0, chunk.bytes(how), gpu.stream());
            arrived[chunk.slot()] = gpu.mark();
        }

        @Override
        public void combine(Chunk chunk, Reduction how) {
            await(arrived[chunk.slot()]);
            PinnedStage pinned = gpu.pinned(chunk.slot());
            Tensor stage = Tensor.wrap(
                    pinned.buffer().duplicate().limit(chunk.bytes(how)), how.wire(), Shape.of(chunk.elements()));
            host.allreduce(List.of(stage), List.of(stage), how.unscaled());
            pinned.copyToDevice(0, chunk.address(), chunk.bytes(how), gpu.stream());
        }

        /** A neighbour that fails must not leave this rank waiting for it. */
        private void await(CudaMark mark) {
            long begun = activities.begin();
            try {
                while (!mark.isReached()) {
                    inside.requireSound();
                    progress.run();
                    TimeUnit.MICROSECONDS.sleep(LOOK_MICROS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                mark.await();
            }
            mark.close();
            activities.end("WAIT_FOR_DATA", begun);
        }

        @Override
        public void report(Activities to) {
            activities = to;
            host.report(to);
        }

        @Override
        public void requireSound() {
            // What goes wrong on the host is thrown where it happens.
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
