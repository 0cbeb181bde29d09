package io.hvd.examples.cuda;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.cuda.CudaDevice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.examples.Example;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.Digits;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.gpu.GpuCheck;
import io.hvd.examples.image.MnistData;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * A trainer without a library for training: it has its own CUDA C kernels, parameters and gradients in GPU memory, and
 * hvd's DistributedOptimizer around an optimizer of its own. It runs one rank per GPU; without a GPU it reports what is
 * missing.
 */
public final class CudaMlpExample implements Example {
    private static final int NO_GPU = 2;

    @Override
    public String name() {
        return "cuda-mlp";
    }

    @Override
    public String summary() {
        return "a multilayer perceptron on CUDA kernels of its own, one rank per GPU";
    }

    @Override
    public Options flags() {
        return MlpOptions.flags();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("").onGpus());
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        MlpOptions options = MlpOptions.from(line);
        Callable<ImageSets> images =
                options.data().equals(MlpOptions.DIGITS) ? Digits::load : MnistData.images(line, options.seed());
        return hvd -> run(hvd, options, images);
    }

    @Override
    public Optional<String> whyNoThreads() {
        return Optional.of("each rank needs a process with a GPU of its own; start one process per GPU under mpirun");
    }

    @Override
    public int refused(CommandLine line, HvdException why) {
        if (why.id() != ErrorId.NO_DEVICE && why.id() != ErrorId.UNSUPPORTED) {
            throw why;
        }
        System.err.println(name() + ": " + why.getMessage());
        return NO_GPU;
    }

    private int run(HvdContext hvd, MlpOptions options, Callable<ImageSets> images) throws Exception {
        String obstacle = hvd.device().isCpu() ? obstacle() : "";
        List<String> obstacles = GpuCheck.fromAllRanks(hvd, "cuda_mlp.obstacle", obstacle);
        for (int rank = 0; rank < hvd.size(); rank++) {
            if (!obstacles.get(rank).isEmpty()) {
                throw new ExampleFailure(
                        "rank " + rank + " on " + hvd.hosts().get(rank) + " has no GPU, and every rank needs one: "
                                + obstacles.get(rank),
                        NO_GPU);
            }
        }
        try (MlpTraining training = new MlpTraining(hvd, options, images.call())) {
            return training.run();
        }
    }

    /** The reason why this process cannot use a GPU, found by trying. */
    private static String obstacle() {
        try (CudaDevice found = CudaDevice.open(0)) {
            return "CUDA works here, but this job was started without GPUs; HVD_BACKEND=auto uses them";
        } catch (HvdException e) {
            return e.getMessage();
        }
    }
}
