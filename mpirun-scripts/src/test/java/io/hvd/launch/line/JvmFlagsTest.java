package io.hvd.launch.line;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.words.Argument;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class JvmFlagsTest {

    @Test
    void ranksWithLessThanTwoCoresEachCollectOnTheirOwnThreadAndCompileLater() {
        List<String> both = List.of("-XX:+UseSerialGC", "-XX:CompileThresholdScaling=8");
        assertThat(flags(2, Map.of(), "-np 4 java -jar t.jar")).isEqualTo(both);
        assertThat(flags(7, Map.of(), "-np 4 java -jar t.jar")).isEqualTo(both);
        assertThat(reasons("-np 4 java -jar t.jar")).first().asString().startsWith("4 ranks share 2 cores");
    }

    @Test
    void ranksWithMoreCoresGetTheThreadsOfTheirShare() {
        assertThat(flags(16, Map.of(), "-np 4 java -jar t.jar"))
                .containsExactly("-XX:ParallelGCThreads=4", "-XX:CICompilerCount=3");
        assertThat(flags(128, Map.of(), "-np 8 java -jar t.jar"))
                .containsExactly("-XX:ParallelGCThreads=13", "-XX:CICompilerCount=12");
    }

    /** The numbers that HotSpot prints with -XX:+PrintFlagsFinal on machines with so many processors. */
    @ParameterizedTest
    @CsvSource({"2, 2, 2", "4, 4, 3", "8, 8, 4", "16, 13, 12", "32, 23, 15", "64, 43, 18"})
    void theNumbersAreHotSpots(int processors, int collectors, int compilers) {
        assertThat(JvmFlags.collectorThreads(processors)).isEqualTo(collectors);
        assertThat(JvmFlags.compilerThreads(processors)).isEqualTo(compilers);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-np 1 java -jar t.jar",
                "-np 4 python3 t.py",
                "-np 4 --no-jvm-flags java -jar t.jar",
                "-np 4 --binding-args x java -jar t.jar",
                "-np 4 java @flags -jar t.jar",
                "-np 4 java -XX:ActiveProcessorCount=2 -jar t.jar",
                "-np 4 java -XX:+UseParallelGC -XX:CompileThresholdScaling=1 -jar t.jar",
                "-np 4 java -XX:+UseG1GC -XX:Tier4InvocationThreshold=9000 -jar t.jar",
                "-np 4 -H here:2,b:2 java -jar t.jar"
            })
    void whatTheUserHasDecidedStays(String line) {
        assertThat(flags(2, Map.of(), line)).isEmpty();
    }

    @Test
    void whatTheEnvironmentHasDecidedStaysToo() {
        assertThat(flags(16, Map.of("JDK_JAVA_OPTIONS", "-XX:+UseZGC"), "-np 4 java -jar t.jar"))
                .containsExactly("-XX:CICompilerCount=3");
        assertThat(flags(16, Map.of("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1"), "-np 4 java -jar t.jar"))
                .containsExactly("-XX:ParallelGCThreads=4");
    }

    private static List<String> flags(int cores, Map<String, String> environment, String line) {
        return arguments(cores, environment, line)
                .flatMap(argument -> argument.words().stream())
                .toList();
    }

    private static List<String> reasons(String line) {
        return arguments(2, Map.of(), line).map(Argument::reason).toList();
    }

    private static Stream<Argument> arguments(int cores, Map<String, String> more, String line) {
        Map<String, String> environment = new TreeMap<>(more);
        environment.put("PATH", "/bin");
        var machine = new MachineFacts(
                "here",
                cores,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("localhost", "here"),
                Set.of("lo"),
                environment);
        LaunchSettings settings = LaunchOptions.parse(environment, line.split(" "));
        var version = new MpiVersion(MpiVersion.Flavour.OPEN_MPI, 4, 1, "Open MPI 4.1.4");
        var job = new JobFacts(settings, machine, version);
        return JavaLine.of(settings.command(), environment).stream().flatMap(java -> JvmFlags.of(job, java).stream());
    }
}
