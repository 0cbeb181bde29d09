package io.hvd.optimizer.djl;

import ai.djl.engine.Engine;
import ai.djl.util.Utils;
import io.hvd.HvdContext;
import io.hvd.config.HvdConfig;
import io.hvd.config.Processors;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.libtorch.LoadedTorch;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Loads DJL's engine as ranks need it: they unpack its libraries one after the other, share the host's cores, and download
 * nothing unless the program has asked for it.
 */
public final class DjlEngine {
    private static final HvdLogger LOG = HvdLogger.of(DjlEngine.class);
    private static final String OFFLINE = "ai.djl.offline";
    private static final String THREADS = "ai.djl.pytorch.num_threads";
    private static final String LOCK = ".hvd.lock";

    private DjlEngine() {}

    /**
     * Loads the engine, before the first {@code Model.newInstance}. With {@code -Dai.djl.offline=false} it may download what is
     * missing, and {@code -Dai.djl.pytorch.num_threads} or {@code OMP_NUM_THREADS} decide its number of threads.
     *
     * @throws HvdException if it cannot be loaded, or if JavaCPP's LibTorch is loaded already
     */
    public static Engine load(HvdContext hvd) {
        return load(hvd.localSize(), hvd.size() == 1, hvd.rank() == 0);
    }

    /**
     * Loads the engine before the first generation of an {@linkplain io.hvd.Elastic elastic} job, when nobody knows the ranks:
     * cores are shared among those with which horovodrun has begun on this host.
     *
     * @throws HvdException as {@link #load(HvdContext)} does
     */
    public static Engine load() {
        String here = System.getenv().getOrDefault("HOROVOD_LOCAL_SIZE", "");
        int localSize = here.matches("[1-9]\\d{0,5}") ? Integer.parseInt(here) : 1;
        return load(localSize, localSize == 1, false);
    }

    private static Engine load(int localSize, boolean alone, boolean tells) {
        requireAlone();
        System.getProperties().putIfAbsent(OFFLINE, "true");
        shareCores(localSize, alone, tells);
        Path cache = Utils.getEngineCacheDir("pytorch");
        try {
            Files.createDirectories(cache);
            return load(cache);
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "DJL's engine cannot be unpacked into " + cache + ": " + e
                            + ". Point -DENGINE_CACHE_DIR to a folder that can be written",
                    e);
        }
    }

    /** Ranks that are threads find the engine loaded when the first of them is ready. */
    private static synchronized Engine load(Path cache) throws IOException {
        try (FileChannel file = FileChannel.open(
                        RegularFile.at(cache.resolve(LOCK)), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = file.lock()) {
            return Engine.getInstance();
        } catch (RuntimeException | LinkageError e) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "DJL's engine could not be loaded: " + root(e)
                            + ". Put pytorch-engine, pytorch-jni and pytorch-native-cpu of this platform on the class path"
                            + " (docs/tutorials/djl.md), or allow DJL to download what is missing with -D" + OFFLINE
                            + "=false",
                    e);
        }
    }

    private static Throwable root(Throwable thrown) {
        Throwable root = thrown;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    /** @throws HvdException if JavaCPP's LibTorch is loaded */
    static void requireAlone() {
        LoadedTorch.now().requireNoJavaCpp("what DJL unpacks into " + Utils.getEngineCacheDir("pytorch"));
    }

    private static void shareCores(int localSize, boolean alone, boolean tells) {
        if (System.getenv("OMP_NUM_THREADS") != null || System.getProperty(THREADS) != null) {
            return;
        }
        int wanted = HvdConfig.fromEnvironment().optimizer().threadsPerRank();
        int share = Processors.ofThisProcess(localSize).share(localSize) - 1;
        int threads = wanted > 0 ? wanted : Math.max(1, alone ? share + 1 : share);
        System.setProperty(THREADS, Integer.toString(threads));
        if (tells) {
            LOG.info("{} CPU thread(s) for DJL's engine per rank; -D{} decides otherwise", threads, THREADS);
        }
    }
}
