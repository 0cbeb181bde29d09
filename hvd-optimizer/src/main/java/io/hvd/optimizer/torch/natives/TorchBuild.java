package io.hvd.optimizer.torch.natives;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;

/**
 * The build of LibTorch that is on the class path, unpacked. The one for GPUs needs libraries of CUDA that JavaCPP does
 * not bring; where some of them are missing, JavaCPP either fails, and names the first of them only, or it leaves CUDA
 * out without a word.
 *
 * @param folders where the libraries of LibTorch and OpenBLAS lie
 * @param forGpus whether it is the build for GPUs
 */
record TorchBuild(List<Path> folders, boolean forGpus) {
    private static final String FOLDER = "/org/bytedeco/";
    private static final String GPU = "-gpu";
    private static final String DRIVER = "libcuda.so.1";
    /** How the names of the libraries of CUDA, cuDNN and NCCL begin. */
    private static final Pattern NVIDIAS = Pattern.compile(
            "lib(cu(da|dart|pti|blas|dnn|fft|file|rand|solver|sparse)|nv(rtc|JitLink|ToolsExt|shmem|perf|ml)|nvidia|nccl)");

    /** The build that JavaCPP has unpacked into its cache; with both builds on the class path that for GPUs. */
    static TorchBuild unpacked() throws IOException {
        Optional<Path> gpu = folder("pytorch", GPU);
        Optional<Path> torch = gpu.or(TorchBuild::forCpus);
        List<Path> folders = Stream.of(torch, folder("openblas", ""))
                .flatMap(Optional::stream)
                .toList();
        return new TorchBuild(folders, gpu.isPresent());
    }

    private static Optional<Path> forCpus() {
        try {
            return folder("pytorch", "");
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<Path> folder(String library, String build) throws IOException {
        File[] found = Loader.cacheResources(FOLDER + library + "/" + Loader.getPlatform() + build);
        return Stream.of(found).filter(File::isDirectory).map(File::toPath).findFirst();
    }

    /** The libraries that this build needs and that nobody has unpacked, in the order of their names. */
    List<String> needs() throws IOException {
        Set<String> own = new LinkedHashSet<>();
        Set<String> needs = new LinkedHashSet<>();
        for (Path folder : folders) {
            for (Path file : libraries(folder)) {
                own.add(file.getFileName().toString());
                // JavaCPP leaves links to what another build has loaded, such as that for GPUs.
                if (!Files.isSymbolicLink(file)) {
                    needs.addAll(ElfLibrary.needs(file));
                }
            }
        }
        needs.removeAll(own);
        return needs.stream().sorted().toList();
    }

    private static List<Path> libraries(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> file.getFileName().toString().contains(".so"))
                    .toList();
        }
    }

    /** The libraries among them that the loader does not find; the ones that it finds are loaded. */
    List<String> missing() throws IOException {
        return missing(TorchBuild::loads);
    }

    List<String> missing(Predicate<String> loads) throws IOException {
        List<String> missing = new ArrayList<>(needs());
        missing.removeIf(loads);
        return missing;
    }

    private static boolean loads(String library) {
        try {
            Loader.loadGlobal(library);
            return true;
        } catch (UnsatisfiedLinkError e) {
            return false;
        }
    }

    /** Why LibTorch cannot be loaded at all, in words that say what to do; empty if its libraries are not the reason. */
    Optional<String> whyNotLoaded() throws IOException {
        List<String> missing = missing();
        if (missing.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(
                forGpus
                        ? "its build for GPUs, which needs CUDA's libraries on a CPU too, does not find "
                                + listed(missing, !loads(DRIVER))
                        : "it does not find " + String.join(", ", missing) + advice(missing));
    }

    /** Why LibTorch sees no GPU, in words that say what to do. It must have been loaded, and have said so. */
    String whyNoGpu() throws IOException {
        return forGpus
                ? whyNoGpu(missing(), loads(DRIVER))
                : "LibTorch on the class path is its build for CPUs,"
                        + " which was built without CUDA; take the one with the classifier " + Loader.getPlatform()
                        + GPU
                        + ", as train.jar does after mvn -Pgpu -DskipTests package";
    }

    static String whyNoGpu(List<String> missing, boolean driver) {
        if (!missing.isEmpty()) {
            return "LibTorch's build for GPUs runs without CUDA, because the loader does not find "
                    + listed(missing, !driver);
        }
        return driver
                ? "LibTorch's build for GPUs and all its libraries are loaded, and it sees no GPU: the driver is too old"
                        + " for CUDA 13 (580 or newer), or CUDA_VISIBLE_DEVICES hides all GPUs"
                : "LibTorch's build for GPUs and all its libraries are loaded, but there is no NVIDIA driver: the loader"
                        + " does not find " + DRIVER;
    }

    private static String listed(List<String> missing, boolean noDriver) {
        return String.join(", ", missing)
                + advice(missing)
                + (noDriver ? ". There is no NVIDIA driver (" + DRIVER + ") either" : "");
    }

    private static String advice(List<String> missing) {
        long nvidias = missing.stream()
                .filter(library -> NVIDIAS.matcher(library).lookingAt())
                .count();
        if (nvidias == 0) {
            return "; install this system's packages that have them, or put their folders into LD_LIBRARY_PATH";
        }
        return (nvidias == missing.size() ? "; they belong" : "; NVIDIA's among them belong")
                + " to CUDA 13, cuDNN 9 and NCCL: install them, or put their folders into LD_LIBRARY_PATH";
    }
}
