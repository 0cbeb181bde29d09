package io.hvd.optimizer.torch.natives;

import io.hvd.config.HvdConfig;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.libtorch.LoadedTorch;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.javacpp.Loader;

/**
 * Has LibTorch's native libraries in JavaCPP's cache before one of its classes needs them, once in a process. What an earlier process has
 * found out about the same class path is taken from its {@link PreparationNote}.
 */
public final class NativePreparation {
    private static final HvdLogger LOG = HvdLogger.of(NativePreparation.class);
    /** Read by JavaCPP when it is first used; without it, what JavaCPP remarks goes to the standard error of every rank. */
    private static final String LOGGER = "org.bytedeco.javacpp.logger";

    private static boolean prepared;
    private static boolean memoryKept;

    private NativePreparation() {}

    /** Unpacks the libraries, and has the C library keep what LibTorch frees. */
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
            if (NativeFolder.use()) {
                prepared = true;
                return;
            }
            Path cache = Loader.getCacheDir().toPath();
            List<String> process = PreparationNote.process(System.getProperties());
            Optional<LibrarySearch> noted = isClassPathAll()
                    ? PreparationNote.read(cache, process).flatMap(LibrarySearch::of)
                    : Optional.empty();
            noted.ifPresentOrElse(LibrarySearch::shorten, () -> prepareAnew(cache, process));
            prepared = true;
        } catch (IOException e) {
            throw NativeUnpacking.failed("JavaCPP has no folder for it", e);
        }
    }

    /** Whether JavaCPP looks for natives in what the property names, and nowhere else. */
    private static boolean isClassPathAll() {
        return Loader.class.getClassLoader() == ClassLoader.getSystemClassLoader()
                && NativePreparation.class.getClassLoader() == ClassLoader.getSystemClassLoader()
                && System.getProperty("jdk.module.path") == null;
    }

    private static void prepareAnew(Path cache, List<String> process) {
        Set<Path> unpacked = NativeUnpacking.alone(cache);
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
                    LoadedTorch.secondOnClassPath(NativePreparation.class.getClassLoader(), Loader.getPlatform());
            second.filter(found -> HvdConfig.fromEnvironment().started().rank().orElse(0) == 0)
                    .ifPresent(LOG::warn);
            return second.isPresent();
        } catch (IOException e) {
            LOG.debug("the class path was not searched for a second LibTorch: {}", e.toString());
            return false;
        }
    }
}
