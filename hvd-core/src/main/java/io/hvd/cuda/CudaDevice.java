package io.hvd.cuda;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * One GPU with hvd's kernels: it gives a back end kernels, stages and streams. It uses the same context as the CUDA
 * runtime, so addresses and streams of JCuda, JavaCPP and NCCL can be used with it.
 *
 * <p>One thread at a time may use it, and the GPU must be that thread's current one. It is the current GPU of the
 * thread that opened it, until this thread opens or enters another GPU, and of any thread that has called {@link
 * #enter}, such as the one on which LibTorch runs a hook. Close stages and streams first. After a failed CUDA call the
 * GPU cannot be used any more, and the job has to end.
 */
public final class CudaDevice implements AutoCloseable {
    private final CudaCalls cuda;
    private final SegmentKernels kernels;

    private CudaDevice(CudaCalls cuda) {
        this.cuda = cuda;
        this.kernels = new SegmentKernels(cuda);
    }

    /**
     * Opens a GPU. It compiles the kernels for the GPU; the driver caches them for the next time.
     *
     * @param index the number of the GPU among the visible ones, see {@link io.hvd.tensor.Device#index}
     * @throws HvdException if JCuda is not usable, or the driver or the GPU is too old
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

    /** Allocates memory of the GPU for the program, which is not cleared. */
    public DeviceStage allocate(long bytes) {
        return allocate(Owner.PROGRAM, bytes);
    }

    /** Allocates memory of the GPU, which is not cleared. @param owner in hvd's record of its memory */
    public DeviceStage allocate(Owner owner, long bytes) {
        return new DeviceStage(cuda, owner, bytes);
    }

    /**
     * Queues the writing of one value to all elements of a range, and waits for nothing.
     *
     * @param value the bits of an element; those beyond its width do not count
     * @param width bytes of an element: 1, 2, 4 or 8
     */
    public void fill(long address, long value, int width, long elements, long stream) {
        cuda.fill(address, value, width, elements, stream);
    }

    /** Allocates memory of the host that the GPU reads and writes by itself. */
    public PinnedStage allocatePinned(int bytes) {
        return allocatePinned(Owner.PROGRAM, bytes);
    }

    /** Does the same. @param owner in hvd's record of its memory */
    public PinnedStage allocatePinned(Owner owner, int bytes) {
        return new PinnedStage(cuda, owner, bytes);
    }

    /** Records an event by a function of CUDA that JCuda does not have. */
    @FunctionalInterface
    public interface Recorder {
        /**
         * @param context handle of the GPU's context
         * @param event handle of the event
         */
        void record(long context, long event);
    }

    /** Makes an event and has it recorded. */
    public CudaEvent recordEvent(Recorder recorder) {
        return CudaEvent.by(recorder, cuda);
    }

    /** The CUDA version that the driver is made for, such as 12040. */
    public int driverVersion() {
        return cuda.driverVersion();
    }

    /** Makes a stream that waits for no other stream, unless it is told to follow one. */
    public CudaStream createStream() {
        return new CudaStream(cuda);
    }

    /**
     * Makes this GPU the calling thread's current one. A thread that has opened several GPUs needs this before calls.
     */
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
