package io.hvd.launch.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.ArithmeticContractTest;
import io.hvd.contract.CollectiveContractTest;
import io.hvd.contract.Contract;
import io.hvd.contract.UnevenSetContractTest;
import io.hvd.launch.Horovodrun;
import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The parts of the contract that do not depend on the number of hosts, between hosts made of network namespaces. */
@Tag("long")
@Timeout(300)
final class ContractHostsIT {
    private static final List<Class<? extends Contract>> CLASSES =
            List.of(ArithmeticContractTest.class, UnevenSetContractTest.class);

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    /** With one rank per host by MPI_Allreduce and the ring, with more in two levels, with threads in memory first. */
    @ParameterizedTest(name = "{0} and {1} processes {2}")
    @CsvSource({
        "1, 1,, passed=7 skipped=4",
        "2, 2,, passed=11 skipped=0",
        "3, 1,, passed=11 skipped=0",
        "1, 1, threads=2, passed=11 skipped=0"
    })
    void theContractHoldsBetweenHostsWithoutASetting(int first, int second, String threads, String counts) {
        List<String> arguments = new ArrayList<>();
        if (threads != null) {
            arguments.add(threads);
        }
        CLASSES.forEach(type -> arguments.add(type.getName()));
        Job job = Job.run(words("--mpi", first, second, arguments), environment());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains(" " + counts + " ");
    }

    @ParameterizedTest(name = "{0} and {1} processes")
    @CsvSource({"1, 1", "2, 2", "3, 1"})
    void theWholeContractHoldsBetweenHostsWithoutMpi(int first, int second) {
        List<String> names = MpiContractIT.CLASSES.stream().map(Class::getName).toList();

        Job job = Job.run(words("--gloo", first, second, names), environment());

        String label = "hosts=" + first + "," + second;
        MpiContractIT.requireAllPassed(job, "tcp", first + second, label, MpiContractIT.CLASSES);
    }

    private static List<String> words(String controller, int first, int second, List<String> arguments) {
        List<String> words = new ArrayList<>(Job.program(
                Horovodrun.class,
                controller,
                "-p",
                NamespaceHosts.PORT,
                "-i",
                hosts.key(),
                "-np",
                first + second + ""));
        words.addAll(List.of("-H", "node-a:" + first + ",node-b:" + second));
        List<String> rank = new ArrayList<>(Job.program(InsideMpirun.class, arguments.toArray(String[]::new)));
        rank.add(1, "-D" + CollectiveContractTest.HOSTS + "=2");
        words.addAll(rank);
        return hosts.on("node-a", words);
    }

    private static Map<String, String> environment() {
        return Map.of("XDG_CACHE_HOME", folder.resolve("cache").toString(), "HOROVOD_DYNAMIC_PROCESS_SETS", "1");
    }
}
