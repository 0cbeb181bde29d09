package io.hvd.backend.nccl;

import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The meeting of ranks that are threads of one process, before they launch NCCL's kernels. CUDA may make a call that
 * allocates or frees memory on one GPU wait for the work on all GPUs of the process. NCCL's kernels on the other GPUs
 * wait in turn for the rank that makes the call, if it has yet to launch its own.
 *
 * <p>The ranks therefore make all such calls before they meet, and none between the meeting and the launch. A call that
 * waits then waits only for operations to which all threads have come. Only the communication thread uses this class.
 */
interface LaunchMeeting {
    /** For a rank that has its process for itself. */
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

    /** All members of the set that are threads of this process come here. @param tensors number of the operation's */
    void beforeCollective(int tensors);

    /** The two ranks of a transfer come here. @param peer the other one, by its number within the set */
    void beforeTransfer(int peer, boolean sends, int tensors);

    /** Every member calls it. */
    void close();

    /** A meeting over the memory of the process. */
    final class OfThreads implements LaunchMeeting {
        private static final Reduction MEETING = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

        private final RankGpu gpu;
        private final DataPlane here;
        private final List<Integer> numbers;
        private final int place;
        private final int setSize;
        private final Tensor word = Tensor.of(new float[1]);

        /**
         * @param here the data plane of those members of the set that are threads of this process
         * @param numbers their numbers within the set
         * @param place this rank's place among them
         * @param setSize number of all members of the set
         */
        OfThreads(RankGpu gpu, DataPlane here, List<Integer> numbers, int place, int setSize) {
            this.gpu = gpu;
            this.here = here;
            this.numbers = List.copyOf(numbers);
            this.place = place;
            this.setSize = setSize;
        }

        @Override
        public void beforeCollective(int tensors) {
            prepare(tensors);
            here.allreduce(List.of(word), List.of(word), MEETING);
        }

        /** A message each way, since the one that sends need not wait for the one that receives. */
        @Override
        public void beforeTransfer(int peer, boolean sends, int tensors) {
            prepare(tensors);
            int other = numbers.indexOf(peer);
            if (other < 0 || other == place) {
                return;
            }
            if (sends) {
                here.send(word, other);
                here.receive(word, other);
            } else {
                here.receive(word, other);
                here.send(word, other);
            }
        }

        /** The segments of a launch are tensors, or pieces for the ranks. */
        private void prepare(int tensors) {
            gpu.reserve(Math.max(tensors, setSize));
        }

        @Override
        public void close() {
            here.close();
        }
    }
}
