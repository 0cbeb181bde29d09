package io.hvd.transport.nccl;

import io.hvd.spi.DataPlane;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Set;

/**
 * The meeting of ranks before they launch NCCL's kernels, where some of them are threads of one process. CUDA may make
 * a call that allocates or frees memory on one GPU wait for the work on all GPUs of the process. NCCL's kernels on the
 * other GPUs wait in turn for the rank that makes the call, if it has yet to launch its own, or for a rank of another
 * process that waits in the same way.
 *
 * <p>The ranks therefore make all such calls before they meet, and none between the meeting and the launch. A call that
 * waits then waits only for operations to which all threads have come. Only the communication thread uses this class.
 */
interface LaunchMeeting {
    /** Meets nobody, for a rank of a set in which every rank has its process for itself. */
    LaunchMeeting NOBODY = new LaunchMeeting() {
        @Override
        public void beforeCollective(int tensors) {
            // No call of another process waits for this one's GPU.
        }

        @Override
        public void beforeTransfer(int peer, boolean sends, int tensors) {
            // No call of another process waits for this one's GPU.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };

    /** All members of the set come here. @param tensors number of the operation's */
    void beforeCollective(int tensors);

    /** The two ranks of a transfer come here. @param peer the other one, by its number within the set */
    void beforeTransfer(int peer, boolean sends, int tensors);

    /** Every member calls it. */
    void close();

    /** A meeting on the host. */
    final class OfThreads implements LaunchMeeting {
        private static final Reduction MEETING = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

        private final RankGpu gpu;
        /** Null if this rank has its process for itself, and the set has all ranks of each other process. */
        private final DataPlane collectives;

        private final PointToPoint transfers;
        private final Set<Integer> peers;
        private final int setSize;
        private final Tensor word = Tensor.of(new float[1]);

        /**
         * @param collectives the data plane of the ranks that meet before a collective, which the meeting closes; null
         *     if this rank meets nobody
         * @param transfers connects all members of the set
         * @param peers the members that this rank meets before a transfer, by their numbers within the set
         * @param setSize number of all members of the set
         */
        OfThreads(RankGpu gpu, DataPlane collectives, PointToPoint transfers, Set<Integer> peers, int setSize) {
            this.gpu = gpu;
            this.collectives = collectives;
            this.transfers = transfers;
            this.peers = Set.copyOf(peers);
            this.setSize = setSize;
        }

        @Override
        public void beforeCollective(int tensors) {
            prepare(tensors);
            if (collectives != null) {
                collectives.allreduce(List.of(word), List.of(word), MEETING);
            }
        }

        /** A message each way, since the one that sends need not wait for the one that receives. */
        @Override
        public void beforeTransfer(int peer, boolean sends, int tensors) {
            prepare(tensors);
            if (!peers.contains(peer)) {
                return;
            }
            if (sends) {
                transfers.send(word, peer);
                transfers.receive(word, peer);
            } else {
                transfers.receive(word, peer);
                transfers.send(word, peer);
            }
        }

        /** The segments of a launch are tensors, or pieces for the ranks. */
        private void prepare(int tensors) {
            gpu.reserve(Math.max(tensors, setSize));
        }

        @Override
        public void close() {
            if (collectives != null) {
                collectives.close();
            }
        }
    }
}
