package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdProgram;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/** Finds the mpi.jar that belongs to an Open MPI; a jar of another version would crash inside MPI's class initialiser. */
final class MpiJar {
    private MpiJar() {}

    /** The jar whose manifest names the version of {@code mpi}. */
    static Path matching(OpenMpi mpi, HvdConfig config) {
        List<String> others = new ArrayList<>();
        for (Path candidate : candidates(mpi, config)) {
            String version = versionOf(candidate).orElse("unknown");
            if (version.equals(mpi.version())) {
                return candidate;
            }
            others.add(candidate + " is of version " + version);
        }
        throw new HvdException(
                ErrorId.MPI_JAR_MISMATCH,
                "Open MPI " + mpi.version() + " (" + mpi.jniLibrary() + ") needs the mpi.jar of version "
                        + mpi.version() + ", found: "
                        + (others.isEmpty() ? "none" : String.join("; ", others))
                        + ". Run " + HvdProgram.SETUP.eitherWay() + " on this machine, it provides the right one");
    }

    private static List<Path> candidates(OpenMpi mpi, HvdConfig config) {
        if (config.mpi().jar().isPresent()) {
            return List.of(config.mpi().jar().get());
        }
        List<Path> jars = new ArrayList<>();
        jars.add(mpi.prefix().resolve("lib/mpi.jar"));
        ownFolder().ifPresent(folder -> jars.add(folder.resolve("mpi-java-installed.jar")));
        Path repository = localRepository();
        jars.add(inRepository(repository, mpi.version()));
        jars.add(inRepository(repository, "installed"));
        return jars.stream().filter(Files::isRegularFile).toList();
    }

    /** The place of a version's jar in a repository of Maven's. */
    static Path inRepository(Path repository, String version) {
        return repository.resolve(Path.of("org", "open-mpi", "mpi-java", version, "mpi-java-" + version + ".jar"));
    }

    static Path localRepository() {
        return Path.of(Optional.ofNullable(System.getProperty("maven.repo.local"))
                .orElse(System.getProperty("user.home") + "/.m2/repository"));
    }

    /** The folder of hvd-core's own jar. */
    private static Optional<Path> ownFolder() {
        try {
            Path self = Path.of(MpiJar.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            return Optional.ofNullable(self.getParent());
        } catch (URISyntaxException | RuntimeException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> versionOf(Path jar) {
        try (JarFile file = new JarFile(jar.toFile())) {
            return Stream.ofNullable(file.getManifest())
                    .map(Manifest::getMainAttributes)
                    .map(attributes -> attributes.getValue("Implementation-Version"))
                    .filter(version -> version != null)
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
