package io.hvd.launch.setup;

import io.hvd.transport.mpi.OpenMpi;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * Makes the mpi.jar of an Open MPI: of the one that came with it, or of its source package. The jar must be of exactly the
 * library's version, since the library looks up fields of its classes that come and go; the manifest says which that is.
 */
final class MpiJarMaker {

    private static final String SOURCES = "*/ompi/mpi/java/java/*.java";
    /** The earliest that a jar can say, so that equal classes make equal jars. */
    private static final long TIME = 315_532_800_000L;

    private final Tools tools;
    private final Jdk jdk;

    MpiJarMaker(Tools tools, Jdk jdk) {
        this.tools = tools;
        this.jdk = jdk;
    }

    byte[] jarFor(OpenMpi mpi) throws IOException, InterruptedException {
        if (mpi.ownJar().isPresent()) {
            return jar(mpi.version(), entries(mpi.ownJar().get()));
        }
        try (var scratch = new Scratch()) {
            return jar(mpi.version(), classes(mpi, scratch));
        }
    }

    private Map<String, byte[]> classes(OpenMpi mpi, Scratch scratch) throws IOException, InterruptedException {
        var packages = new SourcePackage(tools, Path.of("/etc/apt"), scratch);
        Path library = mpi.jniLibrary().toRealPath();
        String owner = packages.ownerOf(library)
                .orElseThrow(
                        () -> new SetupException(
                                "there is no mpi.jar beside " + library
                                        + ", and no package owns that library; set HVD_OPENMPI_HOME to an Open MPI that has its mpi.jar"));
        tools.say("compiling mpi.jar from the source package of " + owner);
        Path sources = scratch.folder("java");
        unpack(packages.fetch(owner), sources, owner);
        Path classes = scratch.folder("classes");
        jdk.compile(below(sources, ".java"), classes);
        return read(classes);
    }

    private void unpack(Path fetched, Path sources, String owner) throws IOException, InterruptedException {
        for (Path archive : below(fetched, "")) {
            String name = archive.getFileName().toString();
            if (name.contains(".orig.tar.") && !name.endsWith(".asc")) {
                tools.run(
                        sources,
                        List.of("tar", "-xf", archive.toString(), "--wildcards", SOURCES),
                        "the source package of " + owner + " has no Java bindings");
            }
        }
    }

    private static List<Path> below(Path folder, String suffix) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> file.toString().endsWith(suffix))
                    .sorted()
                    .toList();
        }
    }

    private static Map<String, byte[]> read(Path classes) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        for (Path file : below(classes, ".class")) {
            entries.put(classes.relativize(file).toString(), Files.readAllBytes(file));
        }
        return entries;
    }

    private static Map<String, byte[]> entries(Path jar) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (JarFile file = new JarFile(jar.toFile())) {
            file.stream()
                    .filter(entry -> !entry.isDirectory() && !entry.getName().equals(JarFile.MANIFEST_NAME))
                    .forEach(entry -> entries.put(entry.getName(), read(file, entry)));
        }
        return entries;
    }

    private static byte[] read(JarFile file, JarEntry entry) {
        try {
            return file.getInputStream(entry).readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A jar whose manifest names the version. */
    static byte[] jar(String version, Map<String, byte[]> entries) throws IOException {
        var bytes = new ByteArrayOutputStream();
        try (var jar = new JarOutputStream(bytes)) {
            put(jar, JarFile.MANIFEST_NAME, manifest(version));
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                put(jar, entry.getKey(), entry.getValue());
            }
        }
        return bytes.toByteArray();
    }

    private static byte[] manifest(String version) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_TITLE, "Open MPI Java bindings");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        var bytes = new ByteArrayOutputStream();
        manifest.write(bytes);
        return bytes.toByteArray();
    }

    private static void put(JarOutputStream jar, String name, byte[] content) throws IOException {
        var entry = new JarEntry(name);
        entry.setTime(TIME);
        jar.putNextEntry(entry);
        jar.write(content);
        jar.closeEntry();
    }
}
