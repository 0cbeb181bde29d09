package io.hvd.examples.gpu;

import io.hvd.testing.Job;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;

/**
 * A folder that looks to gpu-check.sh like a bundle on a machine with GPUs, CUDA and NCCL: its java and horovodrun are
 * scripts that answer from files and write down how they were called.
 */
final class MadeUpBundle {
    private static final Path SCRIPT = Path.of("..", "mpirun-scripts", "gpu-check.sh");

    private static final String JAVA = """
            #!/bin/bash
            case "$*" in
                *--versions*)
                    echo >>"$MADE_UP/starts"
                    [ "$(wc -l <"$MADE_UP/starts")" = 1 ] && sleep "$(cat "$MADE_UP/first-start" 2>/dev/null || echo 0)"
                    cat "$MADE_UP/versions"
                    ;;
                *--help) cat "$MADE_UP/examples" ;;
                *) echo 'openjdk version "17"' >&2 ;;
            esac
            """;

    /**
     * An answer is named by the check, with the example behind it for G8, with "refusal" for more ranks than GPUs, "dies-"
     * before it for a rank that dies and "memcheck-" under compute-sanitizer; "-by-multi-rank" or "-by-host-id" behind it
     * goes first if ranks share a GPU in this way alone, "-by-both" if they do so in both ways.
     */
    private static final String HOROVODRUN = """
            #!/bin/bash
            words="$*"
            printf '%s\\n' "$words" >>"$MADE_UP/calls"
            case "$words" in
                *--more-ranks-than-gpus) answer=refusal ;;
                *HVD_BACKEND=nccl*--rank-dies) answer=dies-G2 ;;
                *--rank-dies) answer=dies-G3 ;;
                *cuda-mlp*) answer=G5 ;;
                *--device\\ cuda*)
                    answer=${words% --device*}
                    answer=G8-${answer##* }
                    ;;
                *) answer=${words##* } ;;
            esac
            case "$words" in *compute-sanitizer*) answer=memcheck-$answer ;; esac
            case "$words" in
                *MULTI_RANK*HOSTID*) way=$answer-by-both ;;
                *MULTI_RANK*) way=$answer-by-multi-rank ;;
                *HOSTID*) way=$answer-by-host-id ;;
            esac
            [ -e "$MADE_UP/${way:-none}" ] && answer=$way
            case "$answer" in G3) jar=${words#*-jar }; ls "$(dirname "${jar%% *}")/lib" >"$MADE_UP/jars-of-G3" ;; esac
            cat "$MADE_UP/$answer"
            if [ -e "$MADE_UP/$answer.hangs" ]; then exec sleep 600; fi
            exit "$(cat "$MADE_UP/$answer.code" 2>/dev/null || echo 0)"
            """;

    /** Leaves a program that answers for C. */
    private static final String COMPILER = """
            #!/bin/bash
            [ -e "$MADE_UP/compiler-error" ] && { cat "$MADE_UP/compiler-error" >&2; exit 1; }
            while [ "$1" != -o ]; do shift; done
            printf '#!/bin/bash\\necho "$*" >>"$MADE_UP/calls-of-c"\\necho "bytes:microseconds 8:7.0 16:8.0"\\n' >"$2"
            chmod +x "$2"
            """;

    private static final String TORCH = "lib/pytorch-1-linux-x86_64-gpu.jar";
    private static final List<String> LIBRARIES = List.of(
            "libcuda.so.1",
            "libcudart.so.13",
            "libnccl.so.2",
            "libcublas.so.13",
            "libcublasLt.so.13",
            "libcudnn.so.9",
            "libcudnn_ops.so.9",
            "libcudnn_cnn.so.9",
            "libcudnn_adv.so.9",
            "libcudnn_graph.so.9",
            "libcufft.so.12",
            "libcufile.so.0",
            "libcupti.so.13",
            "libcurand.so.10",
            "libcusolver.so.12",
            "libcusparse.so.12",
            "libnvJitLink.so.13",
            "libnvrtc.so.13");

    private final Path folder;
    private final Path answers;
    private final Path libraries;

    /** One GPU, and every check passes. */
    MadeUpBundle(Path temporary) throws IOException {
        folder = temporary.resolve("bundle");
        answers = Files.createDirectories(temporary.resolve("answers"));
        libraries = Files.createDirectories(temporary.resolve("cuda/lib"));
        Files.createDirectories(folder.resolve("bin"));
        Files.createDirectories(folder.resolve("lib"));
        for (String file : List.of(
                "train.jar",
                "lib/jcuda-1.jar",
                "lib/cuda-1.jar",
                "lib/cuda-1-linux-x86_64.jar",
                TORCH,
                "lib/jcuda-natives-1-linux-x86_64.jar")) {
            Files.createFile(folder.resolve(file));
        }
        for (String file : LIBRARIES) {
            Files.createFile(libraries.resolve(file));
        }
        Files.writeString(folder.resolve("version"), "made-up-1\n");
        Files.writeString(folder.resolve("env.sh"), "export PATH=" + folder.resolve("bin") + ":$PATH\n");
        program("java", JAVA);
        program("horovodrun", HOROVODRUN);
        program("cc", COMPILER);
        program("compute-sanitizer", "#!/bin/bash\n");
        passing();
    }

    private void passing() throws IOException {
        answer("versions", "NCCL   2.28.3, /opt/libnccl.so.2\nGPU 0  Made Up 9000, 0000:01:00.0\n");
        answer("examples", "examples:\n  digits     numbers\n  cuda-mlp   with kernels\n");
        answer("G1", "CHECK G1 pass rank 0 has device 0\n");
        answer("refusal", "CHECK G1 pass [HVD-107] more ranks than GPUs\n");
        code("refusal", 1);
        answer("G2", "CHECK G2.allreduce pass all types\nCHECK G2.fused pass 20 tensors\n");
        answer("G3", "CHECK G3.allreduce pass all types\nCHECK G3.fused pass 20 tensors\n");
        answer("G4", "CHECK G4 pass bits equal to the CPU's; pack 10 GB/s (ratios 0.91 and 0.85), our own copy 12\n");
        answer("G5", "RESULT example=cuda-mlp ranks=1 loss=0.1 accuracy=0.95\n");
        for (String example : List.of("digits", "mnist", "cifar10", "char-lm", "finetune")) {
            answer("G8-" + example, "RESULT example=" + example + " ranks=1 loss=0.1 accuracy=0.96\n");
        }
        answer("G9", """
                beside-libtorch           8     11.00     12.00       0
                CHECK G9 pass 0 wrong; 8 B: hvd 11.0 us, LibTorch's NCCL 23007 12.0 us
                """);
        answer("memcheck-G2", memcheck(0) + memcheck(0) + "CHECK G2.allreduce pass all types\n");
        answer("memcheck-G4", memcheck(0) + "CHECK G4 pass bits equal to the CPU's\n");
        answer("G7", """
                collective           size      time   algbw   busbw  #wrong
                allreduce               8     11.00    0.00    0.00       0
                allreduce              16     12.00    0.00    0.00       0
                alltoall               16     19.00    0.00    0.00       0
                CHECK G7 pass 0 wrong; allreduce 11.0 us (8 B); nccl 2.28.3 over mpi
                """);
        for (String check : List.of("G2", "G3")) {
            answer("dies-" + check, "CHECK " + check + ".rank-dies pass rank 0 threw after 0.2 s: rank 1 is gone\n");
            code("dies-" + check, 86);
        }
    }

    /** Makes train.jar and its libraries jars that a real java starts, and horovodrun a single rank of them. */
    MadeUpBundle startsRealJava() throws IOException {
        String main = HiddenNatives.class.getName().replace('.', '/') + ".class";
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, HiddenNatives.class.getName());
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, "lib/cuda-1-linux-x86_64.jar lib/jcuda-1.jar");
        try (InputStream compiled = HiddenNatives.class.getResourceAsStream("/" + main)) {
            jar("train.jar", manifest, main, compiled.readAllBytes());
        }
        jar("lib/cuda-1-linux-x86_64.jar", new Manifest(), HiddenNatives.TO_HIDE, new byte[0]);
        jar("lib/jcuda-1.jar", new Manifest(), HiddenNatives.TO_KEEP, new byte[0]);
        program(
                "horovodrun",
                "#!/bin/bash\nwhile [ \"$1\" != java ]; do shift; done\nshift\nexec "
                        + Path.of(System.getProperty("java.home"), "bin", "java") + " \"$@\"\n");
        return this;
    }

    private void jar(String name, Manifest manifest, String entry, byte[] bytes) throws IOException {
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(folder.resolve(name)), manifest)) {
            jar.putNextEntry(new ZipEntry(entry));
            jar.write(bytes);
        }
    }

    static String memcheck(int errors) {
        return "========= ERROR SUMMARY: " + errors + " errors\n";
    }

    MadeUpBundle answer(String name, String text) throws IOException {
        Files.writeString(answers.resolve(name), text);
        return this;
    }

    MadeUpBundle code(String name, int exitCode) throws IOException {
        return answer(name + ".code", exitCode + "\n");
    }

    MadeUpBundle hangs(String name) throws IOException {
        return answer(name + ".hangs", "");
    }

    void remove(String program) throws IOException {
        Files.delete(folder.resolve("bin").resolve(program));
    }

    void removeLibrary(String name) throws IOException {
        Files.delete(libraries.resolve(name));
    }

    void removeJar(String name) throws IOException {
        Files.delete(folder.resolve("lib").resolve(name));
    }

    Job check(String... flags) {
        return check(List.of(), flags);
    }

    /** @param before words before the script's own */
    Job check(List<String> before, String... flags) {
        List<String> command = new ArrayList<>(before);
        command.addAll(List.of(SCRIPT.toString(), folder.toString()));
        command.addAll(List.of(flags));
        Map<String, String> environment = new HashMap<>();
        environment.put("MADE_UP", answers.toString());
        environment.put("LD_LIBRARY_PATH", libraries.toString());
        if (Files.exists(folder.resolve("jdk"))) {
            environment.put("JAVA_HOME", folder.resolve("jdk").toString());
        }
        return Job.run(command, environment);
    }

    /** The page that the script makes of records. */
    Job page(Path... records) {
        List<String> command = new ArrayList<>(List.of(SCRIPT.toString(), "--page"));
        for (Path record : records) {
            command.add(record.toString());
        }
        return Job.run(command, Map.of());
    }

    void forgetCalls() throws IOException {
        Files.delete(answers.resolve("calls"));
    }

    /** What the program in C was called with. */
    List<String> callsOfC() throws IOException {
        return Files.readAllLines(answers.resolve("calls-of-c"));
    }

    /** The folder as a checkout that is built, whose train.jar names these jars in its manifest. */
    MadeUpBundle asCheckout(String classPath) throws IOException {
        Path target = Files.createDirectories(folder.resolve("hvd-examples/target"));
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, classPath);
        new JarOutputStream(Files.newOutputStream(target.resolve("train.jar")), manifest).close();
        Files.move(folder.resolve("lib"), target.resolve("lib"));
        Files.delete(folder.resolve("env.sh"));
        Files.move(folder.resolve("bin"), folder.resolve("mpirun-scripts"));
        Path jar = Path.of(System.getProperty("java.home"), "bin", "jar");
        Path home = Files.createDirectories(folder.resolve("jdk/bin"));
        Files.copy(folder.resolve("mpirun-scripts/java"), home.resolve("java"), StandardCopyOption.COPY_ATTRIBUTES);
        Path program = Files.writeString(home.resolve("jar"), "#!/bin/bash\nexec " + jar + " \"$@\"\n");
        if (!program.toFile().setExecutable(true)) {
            throw new IOException(program + " cannot be made executable");
        }
        return this;
    }

    /** Command lines after "horovodrun -np". */
    List<String> calls() throws IOException {
        return Files.readAllLines(answers.resolve("calls"));
    }

    List<String> jarsWithoutNccl() throws IOException {
        return Files.readAllLines(answers.resolve("jars-of-G3"));
    }

    private void program(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve("bin").resolve(name), text);
        if (!file.toFile().setExecutable(true)) {
            throw new IOException(file + " cannot be made executable");
        }
    }
}
