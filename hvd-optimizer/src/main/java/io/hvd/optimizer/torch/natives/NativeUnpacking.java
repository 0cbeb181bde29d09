package io.hvd.optimizer.torch.natives;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.log.HvdLogger;
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
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;

/**
 * Unpacks all native libraries of LibTorch into JavaCPP's cache, one process at a time. JavaCPP itself unpacks a library when a class needs
 * it, and with an empty cache that crashes the JVM: a library is opened while another process, or even this one, has not written its
 * sibling yet.
 */
final class NativeUnpacking {
    private static final HvdLogger LOG = HvdLogger.of(NativeUnpacking.class);
    static final List<String> LIBRARIES = List.of("javacpp", "openblas", "pytorch");
    /** The end of the folders of the builds for GPUs, behind the platform. */
    static final String CUDA_BUILD = "-gpu";

    private static final String LOCK = ".hvd.lock";

    private NativeUnpacking() {}

    /** @return the folders into which the libraries are unpacked */
    static Set<Path> alone(Path cache) {
        try (FileChannel file = FileChannel.open(
                        RegularFile.at(cache.resolve(LOCK)), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = file.lock()) {
            return unpack(cache);
        } catch (IOException e) {
            throw failed("into " + cache, e);
        }
    }

    /** The system's words for a full disk, for one, name no folder. */
    static HvdException failed(String where, IOException e) {
        return new HvdException(
                ErrorId.INIT_FAILED,
                "LibTorch could not be unpacked, " + where + ": " + e
                        + ". Point -Dorg.bytedeco.javacpp.cachedir to a folder that can be written",
                e);
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
