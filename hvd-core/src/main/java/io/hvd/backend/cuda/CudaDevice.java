package io.hvd.backend.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * One GPU with hvd's kernels on it: kernels, stages and streams for a back end. It lives in the context that the CUDA
 * runtime uses, so addresses and streams of JCuda, JavaCPP and NCCL are as good as its own.
 *
 * <p>It is for one thread at a time, and for one on which it is the current GPU: the thread that opened it, until that
 * opens or enters another, or any thread that has called {@link #enter}, such as the one on which LibTorch runs a hook.
 * Close stages and streams first. A failed CUDA call leaves the GPU in a
 * state in which nothing can be undone: the job has to end.
 */
public final class CudaDevice implements AutoCloseable {
    private final CudaCalls cuda;
    private final SegmentKernels kernels;

    private CudaDevice(CudaCalls cuda) {
        this.cuda = cuda;
        this.kernels = new SegmentKernels(cuda);
    }

    /**
     * Compiles the kernels for the GPU, which the driver remembers for the next time.
     *
     * @param index of the GPU among the visible ones, see {@link io.hvd.tensor.Device#index}
     * @throws HvdException if JCuda is not usable, or the driver or the GPU too old
     */
    public static CudaDevice open(int index) {
        try {
            JCudaLibraries.load();
            return open(InstalledCuda.open(index));
        } catch (LinkageError e) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "hvd's kernels need JCuda with its natives on the class path, and NVIDIA's driver (libcuda.so.1): "
                            + MissingLibrary.named(e),
                    e);
        }
    }

    static CudaDevice open(CudaCalls cuda) {
        try {
            requireDriver(cuda.driverVersion());
            requireCapability(cuda.computeCapability());
            return new CudaDevice(cuda);
        } catch (HvdException e) {
            cuda.close();
            throw e;
        }
    }

    public SegmentKernels kernels() {
        return kernels;
    }

    /** Memory of the GPU, not cleared. */
    public DeviceStage allocate(long bytes) {
        return new DeviceStage(cuda, bytes);
    }

    /** Memory of the host that the GPU reads and writes by itself. */
    public PinnedStage allocatePinned(int bytes) {
        return new PinnedStage(cuda, bytes);
    }

    /** A stream that waits for no other, unless it is told to follow it. */
    public CudaStream createStream() {
        return new CudaStream(cuda);
    }

    /** Makes this GPU the calling thread's current one, as calls on it need where a thread has opened several. */
    public void enter() {
        cuda.enter();
    }

    @Override
    public void close() {
        kernels.close();
        cuda.close();
    }

    private static void requireDriver(int found) {
        if (found < SegmentKernels.OLDEST_DRIVER) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the NVIDIA driver is made for CUDA " + cudaVersion(found) + ", hvd's kernels need one for CUDA "
                            + cudaVersion(SegmentKernels.OLDEST_DRIVER) + " or newer");
        }
    }

    private static void requireCapability(int found) {
        if (found < SegmentKernels.OLDEST_CAPABILITY) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the GPU has compute capability " + capability(found) + ", hvd's kernels need "
                            + capability(SegmentKernels.OLDEST_CAPABILITY) + " (Turing) or newer");
        }
    }

    private static String cudaVersion(int code) {
        return code / 1000 + "." + code % 1000 / 10;
    }

    private static String capability(int code) {
        return code / 10 + "." + code % 10;
    }
}
