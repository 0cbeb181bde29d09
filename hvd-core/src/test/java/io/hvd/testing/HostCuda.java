package io.hvd.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A libcuda.so.1 that runs kernels on the CPU, for processes that a test starts: JCuda's natives load it instead of
 * NVIDIA's. See driver_on_host.cpp for what it checks and what it proves.
 *
 * <p>What is compiled is kept in hvd-core's target folder, under the checksum of what it was made from.
 */
public final class HostCuda {
    private static final Path CORE = Path.of("..", "hvd-core").toAbsolutePath().normalize();
    private static final Path SOURCES = CORE.resolve("src/test/cuda");
    private static final Path BUILT = CORE.resolve("target/host-cuda");
    private static final List<String> DRIVER = List.of(
            "driver_on_host.cpp",
            "block_on_host.cpp",
            "memory_on_host.cpp",
            "module_on_host.cpp",
            "stream_on_host.cpp");
    private static final String LIBRARY = "libcuda.so.1";
    private static final Kernels OWN =
            new Kernels(CORE.resolve("src/main/cuda/segments.cu"), CORE.resolve("src/made/io/hvd/cuda/segments.ptx"));

    private final Path folder;

    private HostCuda(Path folder) {
        this.folder = folder;
    }

    /** A CUDA C source and the PTX that was made of it. */
    public record Kernels(Path source, Path ptx) {
        private List<String> entries() {
            return Pattern.compile("^\\.visible \\.entry (\\w+)\\(", Pattern.MULTILINE)
                    .matcher(read(ptx))
                    .results()
                    .map(found -> found.group(1))
                    .toList();
        }
    }

    /** With hvd's own kernels and these; skips the test, with the reason, where no C++ compiler is. */
    public static HostCuda with(Kernels... more) {
        CppCompiler compiler = CppCompiler.required();
        List<Path> objects = Stream.concat(
                        DRIVER.stream().map(SOURCES::resolve).map(source -> object(compiler, source, List.of())),
                        Stream.concat(Stream.of(OWN), Stream.of(more)).map(kernels -> object(compiler, kernels)))
                .toList();
        return new HostCuda(linked(compiler, objects));
    }

    /** A library that has the driver's name and none of its functions. */
    public static HostCuda withoutFunctions() {
        return new HostCuda(linked(CppCompiler.required(), List.of()));
    }

    /** The folder that the library is in. */
    public Path folder() {
        return folder;
    }

    /** What makes a process find it, and see so many GPUs. */
    public Map<String, String> environment(int devices) {
        String before = System.getenv("LD_LIBRARY_PATH");
        Map<String, String> environment = new TreeMap<>();
        environment.put("LD_LIBRARY_PATH", folder + (before == null || before.isEmpty() ? "" : ":" + before));
        environment.put("HOST_CUDA_DEVICES", String.valueOf(devices));
        return environment;
    }

    private static Path object(CppCompiler compiler, Kernels kernels) {
        String list =
                kernels.entries().stream().map(name -> "KERNEL(" + name + ")\n").collect(Collectors.joining());
        Path entries = made(checksum(list) + ".entries", target -> Files.writeString(target, list));
        return object(
                compiler,
                SOURCES.resolve("register_kernels.cpp"),
                List.of(
                        "-I" + kernels.source().getParent(),
                        "-DSOURCE=\"" + kernels.source().getFileName() + "\"",
                        "-DENTRIES=\"" + entries + "\"",
                        // part of the checksum
                        "-DOF=" + checksum(texts(kernels.source().getParent(), ".cu", ".cuh"))));
    }

    private static Path object(CppCompiler compiler, Path source, List<String> flags) {
        List<String> all = new ArrayList<>(flags);
        all.addAll(List.of("-fPIC", "-pthread", "-I" + SOURCES, "-c", source.toString()));
        String made = compiler.command(all) + texts(SOURCES, ".h") + read(source);
        return made(checksum(made) + ".o", target -> {
            all.addAll(List.of("-o", target.toString()));
            compiler.compile(all);
        });
    }

    /** The folder of a library made of these. */
    private static Path linked(CppCompiler compiler, List<Path> objects) {
        Path library = made(checksum(objects.toString()) + "/" + LIBRARY, target -> {
            List<String> all = new ArrayList<>(List.of("-shared", "-pthread", "-Wl,-soname," + LIBRARY));
            objects.forEach(object -> all.add(object.toString()));
            all.addAll(List.of("-x", "c++", "/dev/null", "-o", target.toString()));
            compiler.compile(all);
        });
        return library.getParent();
    }

    private interface Maker {
        void make(Path target) throws IOException;
    }

    /** A file that is there as a whole or not at all, whoever else makes it at the same time. */
    private static Path made(String name, Maker maker) {
        Path file = BUILT.resolve(name);
        if (Files.exists(file)) {
            return file;
        }
        try {
            Files.createDirectories(file.getParent());
            Path part = Files.createTempFile(file.getParent(), "part", "");
            maker.make(part);
            return Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String texts(Path folder, String... endings) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> Stream.of(endings).anyMatch(file.toString()::endsWith))
                    .sorted(Comparator.naturalOrder())
                    .map(HostCuda::read)
                    .collect(Collectors.joining());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String checksum(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
