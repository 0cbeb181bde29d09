package io.hvd.optimizer.torch.memory;

import org.bytedeco.pytorch.Stream;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch_cuda;

/** The CUDA streams on which LibTorch queues its work. Touched for tensors on GPUs only. */
public final class TorchStreams {
    private static final long DEFAULT = 0;

    private TorchStreams() {}

    /**
     * Handle of the stream that the calling thread's work on a GPU goes to; 0 is CUDA's default stream, which is
     * LibTorch's too unless the program has set another one.
     */
    public static long current(byte gpu) {
        try (Stream stream = torch.getCurrentStream(gpu)) {
            // LibTorch numbers its streams by itself; only the default one has a number that says which it is.
            return stream.id() == DEFAULT
                    ? DEFAULT
                    : torch_cuda.getCurrentCUDAStream(gpu).stream().address();
        }
    }
}
