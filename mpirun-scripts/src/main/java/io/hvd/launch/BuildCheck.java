package io.hvd.launch;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.words.UsageException;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.nccl.report.GpuReport;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The output of {@code --check-build}: the parts of hvd that work here, one check box per item. MPI and NCCL are
 * looked for as {@code Hvd.init()} and {@code Hvd.capabilities()} do it.
 *
 * @param mpi version and mpirun, or empty
 * @param mpiJar the one that fits, or why there need not be one, or empty
 * @param mpiObstacle the reason why there is none; empty if there is one
 * @param gpu GPUs and the libraries that tensors on them pass through
 * @param libTorch whether its classes are on the class path
 */
record BuildCheck(String mpi, String mpiJar, String mpiObstacle, GpuReport gpu, boolean libTorch) {
    /** Under Horovod's name, which scripts look for. */
    private static final String GLOO = "hvd's own TCP and shared memory, without MPI";

    private static final String LIBTORCH = "org.bytedeco.pytorch.Tensor";

    /** @throws HvdException if a setting is bad */
    static BuildCheck look(Map<String, String> environment) {
        HvdConfig config = HvdConfig.from(environment);
        String jar = "";
        String obstacle = "";
        try {
            jar = MpiProvider.jar(config).toString();
        } catch (HvdException missing) {
            Optional<String> called = config.mpi().jar().isPresent()
                    ? Optional.empty() // that one counts
                    : MpiProvider.byForeignFunctions(config);
            jar = called.map(file -> "not needed, Java calls " + file + " itself")
                    .orElse("");
            obstacle = called.isPresent() ? "" : missing.getMessage();
        }
        return new BuildCheck(mpi(environment), jar, obstacle, GpuReport.ofThisProcess(), onClassPath(LIBTORCH));
    }

    String text(String version) {
        return String.join(
                        "\n",
                        "hvd " + version,
                        "",
                        "Controllers",
                        box(!mpi.isEmpty(), "MPI", mpi),
                        box(true, "Gloo", GLOO),
                        "",
                        "Tensor operations",
                        box(mpiObstacle.isEmpty(), "MPI", mpiObstacle),
                        box(gpu.nccl() > 0, "NCCL", gpu.nccl() > 0 ? "version " + gpu.nccl() : gpu.obstacle()),
                        box(true, "Gloo", GLOO),
                        box(true, "local", ""),
                        "",
                        "Engines",
                        box(libTorch, "LibTorch", ""),
                        box(true, "plain arrays", ""),
                        "",
                        "Versions",
                        line("JDK", System.getProperty("java.version") + ", " + System.getProperty("java.home")),
                        line("MPI", mpi.isEmpty() ? "none found" : mpi),
                        line("mpi.jar", mpiJar.isEmpty() ? "none that fits" : mpiJar),
                        "",
                        "GPU",
                        gpu.text().indent(2).stripTrailing())
                + "\n";
    }

    private static String mpi(Map<String, String> environment) {
        try {
            MpiInstall install = MpiInstall.find(environment);
            return install.version().text() + ", " + install.mpirun();
        } catch (UsageException e) {
            return "";
        }
    }

    private static boolean onClassPath(String name) {
        try {
            Class.forName(name, false, BuildCheck.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    private static String box(boolean there, String item, String detail) {
        return "  [" + (there ? "X" : " ") + "] " + item + (detail.isEmpty() ? "" : " (" + detail + ")");
    }

    private static String line(String item, String value) {
        return String.format(Locale.ROOT, "  %-9s %s", item, value);
    }
}
