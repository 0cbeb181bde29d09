package io.hvd.trace;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallSiteTest {
    private static final Set<String> LIBRARY = Set.of(
            "hvd-core",
            "hvd-optimizer",
            "hvd-optimizer/parquet",
            "hvd-optimizer/transformers",
            "mpirun-scripts",
            "mpirun-scripts/spark");

    private static StackTraceElement frame(String packageName, String method) {
        return new StackTraceElement(packageName + ".Some", method, "Some.java", 1);
    }

    private static boolean isOurs(String packageName) {
        return CallSite.isInsideHvd(new StackTraceElement[] {frame(packageName, "method")});
    }

    /** Else a line of the library is taken for one of the program, or the other way round. */
    @Test
    void thePackagesOfTheLibraryAreOursAndThoseOfAllOtherModulesAreUsers() throws IOException {
        List<String> modules = Modules.names().stream()
                .filter(module -> Files.isDirectory(Path.of("..", module, "src"))) // the BOM has none
                .toList();
        for (String module : modules) {
            Set<String> packages = packages(Path.of("..", module, "src/main/java"));
            assertThat(packages)
                    .as(module)
                    .isNotEmpty()
                    .allSatisfy(name -> assertThat(isOurs(name)).as(name).isEqualTo(LIBRARY.contains(module)));
        }
        assertThat(modules).containsAll(LIBRARY).contains("hvd-examples", "hvd-examples/benchmarks");
    }

    private static Set<String> packages(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            Set<String> packages = new TreeSet<>();
            files.filter(file -> file.toString().endsWith(".java") && !file.endsWith("module-info.java"))
                    .map(file -> root.relativize(file.getParent()).toString().replace('/', '.'))
                    .forEach(packages::add);
            return packages;
        }
    }

    @Test
    void aPackageThatIsNewIsOursWithoutAWord() {
        assertThat(isOurs("io.hvd.fresh")).isTrue();
        assertThat(isOurs("io.hvd.transport.fresh.deeper")).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"com.example", "io.hvdx", "io", "io.hvd.examples.deeper", "mpilab", "javaxy.swing"})
    void aUsersPackageIsNotOursHoweverSimilarItsNameIs(String name) {
        StackTraceElement[] stack = {frame("io.hvd.engine", "await"), frame(name, "train"), frame("java.lang", "run")};

        assertThat(isOurs(name)).isFalse();
        assertThat(CallSite.of(stack)).contains("Some.train(Some.java:1)");
        assertThat(CallSite.isInsideHvd(stack)).isTrue();
    }

    /** A thread that sits in MPI is in no line of the user's, and whoever called MPI decides whether it is in the library. */
    @ParameterizedTest
    @ValueSource(
            strings = {"mpi", "jcuda.runtime", "org.bytedeco.pytorch", "java.util", "jdk.internal.misc", "sun.nio.ch"})
    void whatAllStandOnIsNobodysLine(String name) {
        StackTraceElement[] library = {frame(name, "wait"), frame("io.hvd.transport.mpi.bindings", "allreduce")};
        StackTraceElement[] program = {frame(name, "wait"), frame("com.example", "own")};

        assertThat(CallSite.of(library)).isEmpty();
        assertThat(CallSite.isInsideHvd(library)).isTrue();
        assertThat(CallSite.of(program)).contains("Some.own(Some.java:1)");
        assertThat(CallSite.isInsideHvd(program)).isFalse();
    }

    @Test
    void theLineThatIsFoundIsTheInnermostOneOutsideTheLibrary() {
        assertThat(CallSite.current()).startsWith("ReflectionUtils."); // this test stands in one of its packages
    }
}
