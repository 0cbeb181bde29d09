package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import io.hvd.config.HvdConfig;
import io.hvd.config.Processors;
import io.hvd.cuda.MissingLibrary;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.LoadedTorch;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.bytedeco.pytorch.global.torch;

/**
 * Makes LibTorch ready to be touched. {@code Hvd.init()} unpacks it, and a {@link TorchOptimizer} or
 * {@link #shareCores} does the rest; a program that touches LibTorch before that calls {@link #prepare()} first.
 *
 * <p>JavaCPP unpacks native libraries into a cache when a class needs them. With an empty cache that
 * crashes the JVM: a library is opened while another process, or even this one, has not written its
 * sibling yet. So everything is unpacked first, by one process at a time.
 */
public final class TorchRuntime {
    private static final HvdLogger LOG = HvdLogger.of(TorchRuntime.class);
    static final List<String> LIBRARIES = List.of("javacpp", "openblas", "pytorch");
    /** Read by JavaCPP when it is first used; without it, what JavaCPP remarks goes to the standard error of every rank. */
    private static final String LOGGER = "org.bytedeco.javacpp.logger";
    /** What follows the platform in the folders of the builds for GPUs. */
    private static final String CUDA_BUILD = "-gpu";

    private static final String LOCK = ".hvd.lock";

    private static boolean prepared;
    private static boolean memoryKept;

    private TorchRuntime() {}

    /**
     * Unpacks LibTorch's native libraries into JavaCPP's cache unless they are there, and has the C library keep the memory that
     * LibTorch frees; safe to call at any time. From the first call on JavaCPP logs through SLF4J, unless the program has chosen
     * otherwise ({@code -Dorg.bytedeco.javacpp.logger}).
     */
    public static synchronized void prepare() {
        unpackOnce();
        if (!memoryKept) {
            FreedMemory.keep();
            memoryKept = true;
        }
    }

    /**
     * Does the part of {@link #prepare} that must come before any class of LibTorch's is touched. The other part is the first to
     * touch one, which takes a rank 25 ms, so it waits until all have joined.
     */
    static synchronized void unpackOnce() {
        if (prepared) {
            return;
        }
        System.getProperties().putIfAbsent(LOGGER, "slf4j");
        OpenBlasRemark.keepBack();
        try {
            Path cache = Loader.getCacheDir().toPath();
            List<String> process = PreparationNote.process(System.getProperties());
            Optional<LibrarySearch> noted = isClassPathAll()
                    ? PreparationNote.read(cache, process).flatMap(LibrarySearch::of)
                    : Optional.empty();
            noted.ifPresentOrElse(LibrarySearch::shorten, () -> prepareAnew(cache, process));
            prepared = true;
        } catch (IOException e) {
            throw failed("JavaCPP has no folder for it", e);
        }
    }

    /**
     * Loads LibTorch, which otherwise happens when one of its classes is first used. A program that calls this after {@code
     * Hvd.init()} gets all reasons at once if it cannot be loaded, instead of an UnsatisfiedLinkError with the first of them.
     *
     * @throws HvdException if LibTorch cannot be loaded; it names the libraries that are missing, or DJL's LibTorch, which is loaded already
     */
    public static void load() {
        prepare();
        requireAlone();
        try {
            Loader.load(torch.class);
        } catch (LinkageError e) {
            throw new HvdException(ErrorId.INIT_FAILED, "LibTorch could not be loaded: " + whyNotLoaded(e), e);
        }
    }

    private static void requireAlone() {
        LoadedTorch.now().requireNoDjl("what JavaCPP unpacks for org.bytedeco:pytorch");
    }

    private static String whyNotLoaded(LinkageError error) {
        try {
            return TorchBuild.unpacked().whyNotLoaded().orElseGet(() -> MissingLibrary.named(error));
        } catch (IOException | LinkageError e) {
            error.addSuppressed(e);
            return MissingLibrary.named(error);
        }
    }

    /**
     * Says why LibTorch, which is loaded, cannot use a GPU: its build is that for CPUs, libraries of CUDA are missing,
     * or the driver is. Empty if it sees a GPU.
     */
    public static Optional<String> whyNoGpu() {
        load();
        if (torch.hasCUDA()) {
            return Optional.empty();
        }
        try {
            return Optional.of(TorchBuild.unpacked().whyNoGpu());
        } catch (IOException e) {
            return Optional.of("LibTorch sees no GPU, and its libraries cannot be read: " + e);
        }
    }

    /** Whether JavaCPP looks for natives in what the property names, and nowhere else. */
    private static boolean isClassPathAll() {
        return Loader.class.getClassLoader() == ClassLoader.getSystemClassLoader()
                && TorchRuntime.class.getClassLoader() == ClassLoader.getSystemClassLoader()
                && System.getProperty("jdk.module.path") == null;
    }

    private static void prepareAnew(Path cache, List<String> process) {
        Set<Path> unpacked = unpackAlone(cache);
        Optional<LibrarySearch> search = LibrarySearch.inJars();
        search.ifPresent(LibrarySearch::shorten);
        if (warnsOfSecond()) {
            return; // without a note, so that the next start warns too
        }
        if (search.isPresent() && isClassPathAll()) {
            try {
                Optional<PreparationNote> note = PreparationNote.of(
                        process,
                        System.getProperty("java.class.path"),
                        unpacked,
                        search.get().lines());
                if (note.isPresent()) {
                    note.get().write(cache, process);
                }
            } catch (IOException | RuntimeException e) { // files that go meanwhile are a RuntimeException of Files.walk
                LOG.debug("the next start prepares LibTorch anew: {}", e.toString());
            }
        }
    }

    /** Whether another LibTorch is on the class path; the launcher's first rank says which. */
    private static boolean warnsOfSecond() {
        try {
            Optional<String> second =
                    LoadedTorch.secondOnClassPath(TorchRuntime.class.getClassLoader(), Loader.getPlatform());
            second.filter(found -> HvdConfig.fromEnvironment().started().rank().orElse(0) == 0)
                    .ifPresent(LOG::warn);
            return second.isPresent();
        } catch (IOException e) {
            LOG.debug("the class path was not searched for a second LibTorch: {}", e.toString());
            return false;
        }
    }

    private static Set<Path> unpackAlone(Path cache) {
        try (FileChannel file = FileChannel.open(
                        RegularFile.at(cache.resolve(LOCK)), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = file.lock()) {
            return unpack(cache);
        } catch (IOException e) {
            throw failed("into " + cache, e);
        }
    }

    /** The system's words for a full disk, for one, name no folder. */
    private static HvdException failed(String where, IOException e) {
        return new HvdException(
                ErrorId.INIT_FAILED,
                "LibTorch could not be unpacked, " + where + ": " + e
                        + ". Point -Dorg.bytedeco.javacpp.cachedir to a folder that can be written",
                e);
    }

    /**
     * Gives LibTorch and OpenBLAS this rank's share of the host's cores, but for one that the rank's
     * communication and loading need: OpenMP's threads spin while they wait for each other, and one
     * that has to share its core holds up all of them. OMP_NUM_THREADS, if set, is left to decide.
     * Rank 0 says so. A {@link TorchOptimizer} does it; a program without one, such as an evaluation, calls it before its first
     * computation.
     */
    public static void shareCores() {
        requireAlone();
        prepare();
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

    /** The folders into which it unpacks. */
    private static Set<Path> unpack(Path cache) throws IOException {
        boolean cold = !Files.isDirectory(cache) || isEmpty(cache);
        if (cold) {
            LOG.notice("unpacking LibTorch into {} (once per version)", cache);
        }
        Set<Path> unpacked = new LinkedHashSet<>();
        for (String library : LIBRARIES) {
            String folder = "/org/bytedeco/" + library + "/" + Loader.getPlatform();
            for (String build : List.of("", CUDA_BUILD)) {
                unpacked.addAll(unpack(folder + build));
            }
        }
        return unpacked;
    }

    private static List<Path> unpack(String resource) throws IOException {
        List<Path> folders = folders(resource);
        if (!areForeign(resource, folders)) {
            return folders;
        }
        LOG.info("unpacking {} anew: another jar of the same name was unpacked there", resource);
        List<Path> again = folders(resource);
        if (areForeign(resource, again)) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "LibTorch could not be unpacked: the jar with " + resource + ", for which JavaCPP's folder is "
                            + again
                            + ", is damaged: its libraries do not have the checksums that stand in its directory");
        }
        return again;
    }

    /** JavaCPP names the resources and the folders in the same order. */
    private static boolean areForeign(String resource, List<Path> folders) throws IOException {
        URL[] resources = Loader.findResources(Loader.class, resource);
        boolean foreign = false;
        for (int i = 0; i < Math.min(resources.length, folders.size()); i++) {
            for (UnpackedNatives natives : UnpackedNatives.of(resources[i], folders.get(i))) {
                foreign |= natives.deleteForeign();
            }
        }
        return foreign;
    }

    private static List<Path> folders(String resource) throws IOException {
        return Stream.of(Loader.cacheResources(resource)).map(File::toPath).toList();
    }

    private static boolean isEmpty(Path cache) throws IOException {
        try (var entries = Files.newDirectoryStream(cache, "pytorch-*")) {
            return !entries.iterator().hasNext();
        }
    }
}
