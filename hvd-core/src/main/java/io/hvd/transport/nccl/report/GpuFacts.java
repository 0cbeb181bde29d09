package io.hvd.transport.nccl.report;

import io.hvd.cuda.CudaPresence;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.transport.nccl.natives.NcclPresence;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * The parts of CUDA that this process finds, from the libraries' own answers. They are looked for in an order that does
 * no harm on a machine that has none of them.
 *
 * @param kernelModule the version text of the driver's kernel module; empty if it is not loaded
 * @param driver the CUDA version that the driver is made for, such as 12040
 * @param gpus the visible GPUs
 * @param noGpu the reason why there are no GPUs; empty if there are some
 * @param runtime the CUDA runtime that JavaCPP's binding of NCCL loads, such as 13000
 * @param nccl the version of NCCL, such as 22803
 * @param visibleDevices the value of CUDA_VISIBLE_DEVICES, or null
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
     * A library and the file from which it was loaded.
     *
     * @param version the library's own number for its version; 0 if the library is missing
     * @param path the file; empty if it is not known
     * @param missing the reason why the library is missing; empty if it was found
     */
    record Library(int version, String path, String missing) {
        static Library missing(String why) {
            return new Library(0, "", why);
        }
    }

    /**
     * One GPU.
     *
     * @param capability the compute capability, such as 90; 0 if it could not be read
     * @param bytes size of its memory
     * @param unread the reason why capability and memory are not known; empty if they are
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

    /**
     * Reads the runtime's version. If a library does not load, only the first of two attempts names the cause; the
     * first attempt was NCCL's, which loads the runtime too.
     */
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

    /** Reads a library's version; a library that does not load gives a result too. */
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
