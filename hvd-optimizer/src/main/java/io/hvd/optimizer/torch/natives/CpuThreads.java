package io.hvd.optimizer.torch.natives;

import io.hvd.Hvd;
import io.hvd.config.HvdConfig;
import io.hvd.config.Processors;
import io.hvd.log.HvdLogger;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.bytedeco.pytorch.global.torch;

/** The threads on the CPU that LibTorch and OpenBLAS use within an operation of this rank. */
public final class CpuThreads {
    private static final HvdLogger LOG = HvdLogger.of(CpuThreads.class);

    private CpuThreads() {}

    /** Gives a rank its share of the host's cores as {@code TorchRuntime.shareCores} says. */
    public static void share() {
        NativeLibraries.requireAlone();
        NativePreparation.prepare();
        if (System.getenv("OMP_NUM_THREADS") != null) {
            return;
        }
        int wanted = HvdConfig.fromEnvironment().optimizer().threadsPerRank();
        boolean joined = Hvd.isInitialized();
        int localSize = joined ? Hvd.localSize() : 1;
        Processors processors = Processors.ofThisProcess(localSize);
        int threads = wanted > 0 ? wanted : threads(processors, localSize);
        torch.set_num_threads(threads);
        openblas_nolapack.blas_set_num_threads(threads);
        if (!joined || Hvd.rank() == 0) {
            LOG.info(
                    "{} CPU thread(s) for LibTorch and OpenBLAS per rank: {}",
                    threads,
                    wanted > 0 ? "HVD_THREADS_PER_RANK" : reason(processors, localSize));
        }
    }

    static int threads(Processors processors, int localSize) {
        return Math.max(1, processors.share(localSize) - 1);
    }

    static String reason(Processors processors, int localSize) {
        return processors.available() + " processor(s)"
                + (processors.own() ? " of this rank's own" : " for " + localSize + " rank(s) of this host")
                + ", one of each rank left for communication; HVD_THREADS_PER_RANK or OMP_NUM_THREADS decide otherwise";
    }
}
