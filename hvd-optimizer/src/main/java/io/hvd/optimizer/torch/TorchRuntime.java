package io.hvd.optimizer.torch;

import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.natives.CpuThreads;
import io.hvd.optimizer.torch.natives.NativeLibraries;
import io.hvd.optimizer.torch.natives.NativePreparation;
import java.util.Optional;

/**
 * Makes LibTorch ready to be touched. {@code Hvd.init()} unpacks it, and a {@link TorchOptimizer} or
 * {@link #shareCores} does the rest; a program that touches LibTorch before that calls {@link #prepare()} first.
 *
 * <p>JavaCPP unpacks native libraries into a cache when a class needs them. With an empty cache that
 * crashes the JVM: a library is opened while another process, or even this one, has not written its
 * sibling yet. So everything is unpacked first, by one process at a time.
 */
public final class TorchRuntime {
    private TorchRuntime() {}

    /**
     * Unpacks LibTorch's native libraries into JavaCPP's cache unless they are there, and has the C library keep the memory that
     * LibTorch frees; safe to call at any time. From the first call on JavaCPP logs through SLF4J, unless the program has chosen
     * otherwise ({@code -Dorg.bytedeco.javacpp.logger}).
     */
    public static void prepare() {
        NativePreparation.prepare();
    }

    /**
     * Loads LibTorch, which otherwise happens when one of its classes is first used. A program that calls this after {@code
     * Hvd.init()} gets all reasons at once if it cannot be loaded, instead of an UnsatisfiedLinkError with the first of them.
     *
     * @throws HvdException if LibTorch cannot be loaded; it names the libraries that are missing, or DJL's LibTorch, which is loaded already
     */
    public static void load() {
        NativeLibraries.load();
    }

    /**
     * Says why LibTorch, which is loaded, cannot use a GPU: its build is that for CPUs, libraries of CUDA are missing,
     * or the driver is. Empty if it sees a GPU.
     */
    public static Optional<String> whyNoGpu() {
        return NativeLibraries.whyNoGpu();
    }

    /**
     * Gives LibTorch and OpenBLAS this rank's share of the host's cores, but for one that the rank's
     * communication and loading need: OpenMP's threads spin while they wait for each other, and one
     * that has to share its core holds up all of them. OMP_NUM_THREADS, if set, is left to decide.
     * Rank 0 says so. A {@link TorchOptimizer} does it; a program without one, such as an evaluation, calls it before its first
     * computation.
     */
    public static void shareCores() {
        CpuThreads.share();
    }
}
