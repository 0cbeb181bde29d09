package io.hvd.launch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What {@code --check-build} prints: what of hvd works here, one check box per item. */
final class BuildCheck {

    private static final String LIBTORCH = "org.bytedeco.pytorch.Tensor";
    private static final String NCCL = "org.bytedeco.cuda.global.nccl";
    private static final String JCUDA = "jcuda.runtime.JCuda";

    private final Map<String, String> environment;
    private final Path repository;

    /** @param repository the local Maven repository */
    BuildCheck(Map<String, String> environment, Path repository) {
        this.environment = environment;
        this.repository = repository;
    }

    String text(String version) {
        String openMpi = openMpi();
        List<String> jars = mpiJars();
        boolean mpi = !openMpi.isEmpty();
        return String.join(
                        "\n",
                        "hvd " + version,
                        "",
                        "Controllers",
                        box(mpi, "MPI", openMpi),
                        "",
                        "Tensor operations",
                        box(mpi && !jars.isEmpty(), "MPI", jars.isEmpty() ? "no mpi.jar" : ""),
                        box(onClassPath(NCCL) && onClassPath(JCUDA), "NCCL", ""),
                        box(true, "local", ""),
                        "",
                        "Engines",
                        box(onClassPath(LIBTORCH), "LibTorch", ""),
                        box(true, "plain arrays", ""),
                        "",
                        "Versions",
                        line("JDK", System.getProperty("java.version") + ", " + System.getProperty("java.home")),
                        line("Open MPI", mpi ? openMpi : "none found"),
                        line("mpi.jar", jars.isEmpty() ? "none in " + jarFolder() : String.join(", ", jars)))
                + "\n";
    }

    private String openMpi() {
        try {
            MpiInstall install = MpiInstall.find(environment);
            return install.version().text() + ", " + install.mpirun();
        } catch (UsageException e) {
            return "";
        }
    }

    private Path jarFolder() {
        return repository.resolve("org/open-mpi/mpi-java");
    }

    private List<String> mpiJars() {
        List<String> versions = new ArrayList<>();
        try (Stream<Path> folders = Files.list(jarFolder())) {
            folders.map(folder -> folder.getFileName().toString()).sorted().forEach(version -> {
                if (Files.exists(jarFolder().resolve(version).resolve("mpi-java-" + version + ".jar"))) {
                    versions.add(version);
                }
            });
        } catch (IOException e) {
            return List.of();
        }
        return versions;
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
        return String.format("  %-9s %s", item, value);
    }
}
