package io.hvd.modulepath;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.File;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** hvd on the module path, which the other tests do without. */
class ModulePathIT {
    /** For Open MPI 4.1's mpirun takes any word of a Java program in which it finds "cp", as in javacpp, for the flag -cp. */
    private static final String OPTIONS = "JDK_JAVA_OPTIONS";

    @Test
    void ranksUnderMpirunFindEachOther() {
        List<String> command = Mpirun.command(2);
        command.addAll(program("sum"));
        Job job = Job.run(command, environment());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("module io.hvd.core")).as(job.output()).hasSize(2);
        assertThat(job.lines(" has 3 by ")).as(job.output()).hasSize(2).allMatch(line -> line.contains("mpi"));
    }

    @Test
    void aProgramSeesTheApiAndNothingElse() {
        Job job = Job.run(program("gpu"), environment());

        assertThat(job.output()).contains("io.hvd is exported", "io.hvd.job is hidden", "io.hvd.engine is hidden");
    }

    /** The natives are in another module than the classes that load them. */
    @Test
    void jCudaLoadsItsNativesFromItsOtherJar() {
        Map<String, String> environment = environment();
        environment.putAll(HostCuda.with().environment(1));
        environment.put("CUDA_VISIBLE_DEVICES", "0");
        Job job = Job.run(program("gpu"), environment);

        assertThat(job.output()).contains("module io.hvd.core", "CUDA true");
    }

    private static Map<String, String> environment() {
        String path = modules().collect(Collectors.joining(File.pathSeparator));
        return new HashMap<>(Map.of(OPTIONS, "--module-path " + path + " --add-modules ALL-MODULE-PATH"));
    }

    private static List<String> program(String argument) {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        return List.of(java, "-cp", where(ModulePathProgram.class), ModulePathProgram.class.getName(), argument);
    }

    private static Stream<String> modules() {
        Stream<String> libraries = Stream.of(
                        System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> Path.of(entry).getFileName().toString().matches("(slf4j-|jcuda-|javacpp-).*jar"));
        return Stream.concat(Stream.of(where(Hvd.class)), libraries);
    }

    private static String where(Class<?> type) {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath())
                .toString();
    }
}
