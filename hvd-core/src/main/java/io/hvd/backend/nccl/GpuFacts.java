package io.hvd.backend.nccl;

import io.hvd.spi.GpuDriver.Gpu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * What this process finds of CUDA, as the libraries say it; looked for in the order that cannot harm a machine
 * without any of them.
 *
 * @param kernelModule what the driver's kernel module says of itself; empty if it is not loaded
 * @param driver the CUDA that the driver is made for, such as 12040
 * @param gpus visible ones
 * @param noGpu why there are none; empty if there are some
 * @param runtime that JavaCPP's binding of NCCL brings with it, such as 13000
 * @param nccl such as 22803
 * @param visibleDevices CUDA_VISIBLE_DEVICES, or null
 */
record GpuFacts(
        String kernelModule,
        Library driver,
        List<Card> gpus,
        String noGpu,
        Library runtime,
        Library nccl,
        BindingVersions bindings,
        String visibleDevices) {

    private static final Path KERNEL_MODULE = Path.of("/proc/driver/nvidia/version");
    private static final String NOT_LOOKED_FOR = "not looked for without a GPU";

    /**
     * A library and where it was loaded from.
     *
     * @param version its own number; 0 if it is missing
     * @param path empty if that is not known
     * @param missing why there is none; empty if there is
     */
    record Library(int version, String path, String missing) {
        static Library missing(String why) {
            return new Library(0, "", why);
        }
    }

    /**
     * One GPU.
     *
     * @param capability such as 90; 0 if it could not be read
     * @param bytes of memory
     * @param unread why the last two are not known; empty if they are
     */
    record Card(Gpu gpu, int capability, long bytes, String unread) {}

    static GpuFacts ofThisProcess() {
        NcclPresence presence = NcclPresence.ofThisProcess();
        boolean gpus = !presence.gpus().isEmpty();
        String module = firstLine(KERNEL_MODULE);
        Supplier<String> why = () -> CudaPresence.ofThisProcess().missing();
        return new GpuFacts(
                module,
                gpus || !module.isEmpty() ? read(DriverFacts::version) : Library.missing(why.get()),
                presence.gpus().stream().map(GpuFacts::card).toList(),
                why.get(),
                gpus ? runtime(presence.missing(), LoadedLibraries::runtime) : Library.missing(NOT_LOOKED_FOR),
                nccl(presence),
                BindingVersions.ofClassPath(GpuFacts.class.getClassLoader()),
                System.getenv("CUDA_VISIBLE_DEVICES"));
    }

    /** Only the first of two attempts at a library that does not load names the cause, and NCCL's, which loads it too, was the first. */
    static Library runtime(String whyNoNccl, Supplier<Library> reading) {
        Library runtime = read(reading);
        return runtime.missing().isEmpty() || whyNoNccl.isEmpty() ? runtime : Library.missing(whyNoNccl);
    }

    private static Library nccl(NcclPresence presence) {
        if (presence.gpus().isEmpty()) {
            return Library.missing(NOT_LOOKED_FOR);
        }
        return presence.calls() == null
                ? Library.missing(presence.missing())
                : new Library(presence.calls().versionCode(), LoadedLibraries.path("libnccl.so"), "");
    }

    private static Card card(Gpu gpu) {
        try {
            return DriverFacts.card(gpu);
        } catch (LinkageError | RuntimeException e) {
            return new Card(gpu, 0, 0, CudaPresence.firstLine(e));
        }
    }

    /** A library that does not load is a fact too. */
    static Library read(Supplier<Library> reading) {
        try {
            return reading.get();
        } catch (LinkageError | RuntimeException e) {
            return Library.missing(CudaPresence.firstLine(e));
        }
    }

    static String firstLine(Path file) {
        try {
            return Files.readString(file).lines().findFirst().orElse("").strip();
        } catch (IOException e) {
            return "";
        }
    }
}
