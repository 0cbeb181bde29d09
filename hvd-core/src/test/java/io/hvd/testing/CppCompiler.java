package io.hvd.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** A C++ compiler of this machine; setting up a machine for hvd does not install one, so tests that need it may be skipped. */
public final class CppCompiler {
    private static final List<String> NAMES = List.of("c++", "g++", "clang++");
    /** The arithmetic of the kernels as CUDA compiles them for hvd, and calls between stacks, which some systems forbid. */
    private static final List<String> FLAGS = List.of(
            "-std=c++17",
            "-O1",
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-U_FORTIFY_SOURCE",
            "-Wno-unknown-pragmas");

    private final String name;

    private CppCompiler(String name) {
        this.name = name;
    }

    /** Skips the test, with the reason, if there is none. */
    public static CppCompiler required() {
        String found = NAMES.stream()
                .filter(name -> folders().anyMatch(folder -> Files.isExecutable(Path.of(folder, name))))
                .findFirst()
                .orElse(null);
        Assumptions.assumeTrue(
                found != null,
                "no C++ compiler (" + String.join(", ", NAMES) + ") on the PATH to compile kernels with");
        return new CppCompiler(found);
    }

    private static Stream<String> folders() {
        return Arrays.stream(System.getenv("PATH").split(":"));
    }

    /** Compiles, with flags and files in the compiler's own order. */
    public void compile(List<String> arguments) {
        Job job = Job.run(command(arguments), java.util.Map.of());
        assertThat(job.exitCode())
                .as("%s: %s", command(arguments), job.output())
                .isZero();
    }

    /** The whole command line. */
    public List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(name));
        command.addAll(FLAGS);
        command.addAll(arguments);
        return command;
    }
}
