package io.hvd.doctor.checks;

import static io.hvd.doctor.Made.findings;
import static io.hvd.doctor.Made.host;
import static io.hvd.doctor.Made.inventory;
import static io.hvd.doctor.Made.link;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.doctor.Made;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.doctor.network.ListeningPort;
import io.hvd.doctor.network.MeasuredLink;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** One fault, one finding: its number, its hosts, the values in its text, and what to run. */
final class CheckTest {

    private static final double FAST = 3e9;

    @Test
    void healthyHostsHaveNoFinding() {
        var links = List.of(link("a", "b", 30, FAST, 4), link("b", "a", 30, FAST, -4));

        assertThat(findings(inventory(links, host("a"), host("b")))).isEmpty();
        assertThat(findings(inventory(host("a")))).isEmpty();
    }

    @Test
    void noMpirun() {
        Finding finding = only(
                Diagnosis.NO_MPI, host("a", "mpi.obstacle='mpirun is not on PATH'", "mpi.mpirun=''", "mpi.version=''"));

        assertThat(finding.found()).isEqualTo("mpirun is not on PATH");
        assertThat(finding.diagnosis().cause()).contains("horovodrun --gloo", "HVD_RENDEZVOUS");
    }

    @Test
    void anMpiThatThisJavaCannotCall() {
        Finding finding = only(
                Diagnosis.OTHER_MPI,
                host("a", "mpi.unusable='it needs Java 22'", "mpi.version='MPICH 4.0.2'", "mpi.jar=''"));

        assertThat(finding.found()).isEqualTo("/usr/bin/mpirun is MPICH 4.0.2: it needs Java 22");
    }

    @Test
    void anMpiThatForeignFunctionsReachNeedsNoJar() {
        Host host = host(
                "a",
                "mpi.version='MPICH 4.0.2'",
                "mpi.jar=''",
                "mpi.jarObstacle='no libmpi_java'",
                "mpi.bindings=false",
                "mpi.foreign='/usr/lib/libmpich.so.12'");

        assertThat(findings(inventory(host))).isEmpty();
    }

    @Test
    void anOpenMpiWithoutItsBindings() {
        Finding finding = only(
                Diagnosis.NO_BINDINGS,
                host("a", "mpi.bindings=false", "mpi.jar=''", "mpi.jarObstacle='no libmpi_java'"));

        assertThat(finding.found()).isEqualTo("no libmpi_java");
    }

    @Test
    void aJarOfAnotherVersionIsFoundOnceForAllHosts() {
        String[] fault = {"mpi.jar=''", "mpi.jarObstacle='x.jar is of version 5.0.7'"};
        Finding finding = only(Diagnosis.WRONG_JAR, host("a", fault), host("b", fault), host("c"));

        assertThat(finding.hosts()).containsExactly("a", "b");
        assertThat(finding.found()).contains("5.0.7");
        assertThat(finding.command()).isEqualTo("unset HVD_MPI_JAR && mpirun-scripts/setup.sh");
    }

    @Test
    void differentVersionsOfOpenMpi() {
        Finding finding = only(Diagnosis.MPI_DIFFERS, host("a"), host("b", "mpi.version='Open MPI 5.0.7'"), host("c"));

        assertThat(finding.found()).isEqualTo("MPI: Open MPI 4.1.4 on a, c; Open MPI 5.0.7 on b");
    }

    @Test
    void theDaemonIsMissedOnOtherHostsOnly() {
        Finding finding =
                only(Diagnosis.NO_DAEMON, host("a", "mpi.daemonPath=''"), host("b", "mpi.daemonPath=''"), host("c"));

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).contains("orted");
    }

    @Test
    void whatRanksWouldRefuseEachOtherFor() {
        Finding finding = only(Diagnosis.CODE_DIFFERS, host("a"), host("b", "values.hvd version='0.2.0'"), host("c"));

        assertThat(finding.found()).isEqualTo("hvd version: 0.1.0 on a, c; 0.2.0 on b");
    }

    @Test
    void aLibraryThatOneHostLacks() {
        Finding finding = only(
                Diagnosis.CODE_DIFFERS,
                host("a"),
                host(
                        "b",
                        "values={'Java major version': '17',"
                                + " 'Java version': '17.0.15 of Debian', 'hvd version': '0.1.0'}"));

        assertThat(finding.found()).isEqualTo("LibTorch version: 2.10.0 on a; none on b");
    }

    @Test
    void anotherReleaseOfTheSameJavaIsAWarning() {
        Finding finding = only(Diagnosis.JAVA_DIFFERS, host("a"), host("b", "values.Java version='17.0.9 of Temurin'"));

        assertThat(finding.diagnosis().severity()).isEqualTo(Severity.WARNING);
        assertThat(finding.found()).contains("17.0.15 of Debian on a; 17.0.9 of Temurin on b");
    }

    @Test
    void aBadSettingIsNotTakenForADifference() {
        Finding finding = only(
                Diagnosis.BAD_SETTING, host("a"), host("b", "badSetting='HVD_STRICT is 7'", "values={}", "mpi.jar=''"));

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("HVD_STRICT is 7");
    }

    @Test
    void noGpuAnywhereIsANote() {
        String[] none = {"gpu={'gpus': 0, 'nccl': 0, 'obstacle': 'no GPU: no driver', 'rows': []}"};
        Finding finding = only(Diagnosis.NO_GPU, host("a", none), host("b", none));

        assertThat(finding.diagnosis().severity()).isEqualTo(Severity.NOTE);
        assertThat(finding.hosts()).containsExactly("a", "b");
    }

    @Test
    void moreRanksThanGpusUnlessTheyAreShared() {
        Finding finding = only(Diagnosis.FEW_GPUS, host(2, "a"), host(3, "b"));

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("3 ranks and 2 GPUs");
        assertThat(finding.command()).isEqualTo("horovodrun -np 4");
        assertThat(findings(inventory(host(3, "b", "values.HVD_SHARE_GPU='1'"))))
                .isEmpty();
    }

    @Test
    void ranksThatPickTheirGpusThemselvesAreNotCounted() {
        assertThat(findings(inventory(host(3, "b", "values.HVD_PIN_GPU='0'")))).isEmpty();
    }

    @Test
    void aJobThatIsToldToComputeOnTheCpuHearsNothingOfGpus() {
        assertThat(findings(inventory(
                        host(3, "b", "values.HVD_BACKEND='mpi'", "gpu.obstacle='libnccl.so.2 is not there'"))))
                .isEmpty();
    }

    @Test
    void aRankMayNeedSeveralGpus() {
        String two = "values.HVD_GPUS_PER_RANK='2'";
        Finding finding = only(Diagnosis.FEW_GPUS, host(2, "a", two, "gpu.gpus=3"), host(1, "b", two, "gpu.gpus=3"));

        assertThat(finding.hosts()).containsExactly("a");
        assertThat(finding.found()).isEqualTo("2 ranks of 2 GPUs each (HVD_GPUS_PER_RANK) and 3 GPUs");
        assertThat(finding.command()).isEqualTo("horovodrun -np 2");
    }

    @Test
    void differentGpusButNotDifferentSlots() {
        Host other = host("b", "gpu.rows=[{'item': 'GPU 0', 'found': 'A100, 0000:02:00.0, 40 GiB', 'missing': ''}]");
        Host elsewhere =
                host("b", "gpu.rows=[{'item': 'GPU 0', 'found': 'H100, 0000:07:00.0, 80 GiB', 'missing': ''}]");

        assertThat(only(Diagnosis.GPUS_DIFFER, host("a"), other).found()).contains("GPU 0 H100 on a", "A100 on b");
        assertThat(findings(inventory(host("a"), elsewhere))).isEmpty();
    }

    @Test
    void gpusWithoutNccl() {
        assertThat(only(Diagnosis.NO_NCCL, host("a", "gpu.obstacle='libnccl.so.2 is not there'"))
                        .found())
                .isEqualTo("libnccl.so.2 is not there");
    }

    @Test
    void theHeapThatWasAskedForDoesNotFit() {
        var inventory = new HostInventory(
                List.of(host(8, "a", "gpu.gpus=8")), List.of(), OptionalLong.of(8 * Made.GIB), Made.GIB, "", "");

        Finding finding = only(Diagnosis.HEAP_TOO_LARGE, inventory);

        assertThat(finding.found())
                .isEqualTo("8 x (8.0 GiB heap + 128 MiB direct + 1.0 GiB native) = 73.0 GiB of 64.0 GiB");
        // 64 GiB less a tenth, by 8 ranks, less 1.125 GiB, in steps of 256 MiB
        assertThat(finding.command()).startsWith("java -Xmx6144m ");
    }

    @Test
    void theDefaultHeapDoesNotFit() {
        Finding finding = only(Diagnosis.DEFAULT_HEAP, host(4, "a", "gpu.gpus=4", "memory.heap=17179869184"));

        assertThat(finding.diagnosis().severity()).isEqualTo(Severity.WARNING);
        assertThat(finding.found()).contains("4 x (16.0 GiB heap", "of 64.0 GiB");
    }

    @Test
    void whereNoHeapFitsThereAreFewerRanks() {
        Finding finding = only(Diagnosis.DEFAULT_HEAP, host(8, "a", "gpu.gpus=8", "memory.total=8589934592"));

        // 7.2 GiB by 1 GiB native, 128 MiB direct and a heap of 256 MiB
        assertThat(finding.command()).startsWith("horovodrun -np 5 java -Xmx256m");
    }

    @Test
    void sharedMemoryThatIsTooSmallForTheRanksOfAHost() {
        String small =
                "folders.sharedMemory.free=19927039"; // 2 x 8 MiB, 6 x 512 KiB and a page of counters, less a byte
        String across =
                "folders.sharedMemory.free=23072768"; // 2 x 8 MiB, 6 x 1 MiB, which two hosts want, and the page
        String off = "values.HVD_SHARED_MEMORY='false'";

        assertThat(only(Diagnosis.SMALL_SHM, host("a", small)).found())
                .isEqualTo("/dev/shm has 19 MiB free of 4.0 GiB, 2 ranks want 19 MiB");
        assertThat(findings(inventory(host(1, "a", small)))).isEmpty();
        assertThat(findings(inventory(host("a", "folders.sharedMemory.free=19927040"))))
                .isEmpty();
        assertThat(findings(inventory(host("a", "folders.sharedMemory.free=16777216", off))))
                .isEmpty();
        assertThat(findings(inventory(host("a", across), host("b")))).isEmpty();
        assertThat(only(Diagnosis.SMALL_SHM, host("a", across.replace("768", "767")), host("b"))
                        .found())
                .endsWith("2 ranks want 22 MiB");
        assertThat(only(Diagnosis.SMALL_SHM, host("a", "folders.sharedMemory.free=19927040"), host("b"))
                        .found())
                .startsWith("/dev/shm has 19 MiB free");
    }

    @Test
    void noSharedMemory() {
        assertThat(only(Diagnosis.NO_SHM, host("a", "folders.sharedMemory={'path': '/dev/shm', 'total': 0}"))
                        .found())
                .isEqualTo("/dev/shm is not there");
        assertThat(only(Diagnosis.NO_SHM, host("a", "folders.sharedMemory.writable=false"))
                        .found())
                .isEqualTo("/dev/shm cannot be written");
    }

    @Test
    void limitsOfFilesProcessesAndLockedMemory() {
        assertThat(only(Diagnosis.OPEN_FILES, host("a", "limits.openFiles=1023"))
                        .found())
                .startsWith("1023 open");
        assertThat(only(Diagnosis.FEW_FILES, host("a", "limits.openFiles=40")).found())
                .isEqualTo("40 open files, 2 ranks need 64");
        assertThat(only(Diagnosis.PROCESSES, host("a", "limits.processes=199")).found())
                .contains("199 processes", "2 ranks", "200");
        assertThat(only(
                                Diagnosis.LOCKED_MEMORY,
                                host("a", "limits.lockedMemory=65536", "limits.fabric='mlx5_0 (InfiniBand)'"))
                        .found())
                .isEqualTo("64 KiB of locked memory beside mlx5_0 (InfiniBand)");
        assertThat(findings(inventory(host("a", "limits.lockedMemory=65536")))).isEmpty();
    }

    @Test
    void moreRanksThanCores() {
        Finding finding = only(Diagnosis.FEW_CORES, host("a"), host("b", "limits.cores=1"));

        assertThat(finding.found()).isEqualTo("2 ranks on 1 cores");
        assertThat(finding.command()).isEqualTo("horovodrun -np 3");
    }

    @Test
    void foldersThatCannotBeWrittenOrAreFull() {
        assertThat(only(Diagnosis.NO_TMP, host("a", "folders.temporary.writable=false"))
                        .found())
                .isEqualTo("/tmp cannot be written");
        assertThat(only(Diagnosis.FULL_CACHE, host("a", "folders.cache.free=1048576"))
                        .found())
                .isEqualTo("/home/me has 1 MiB free, LibTorch wants 600 MiB");
        assertThat(findings(
                        inventory(host("a", "folders.cache.free=1", "folders.cache.path='/home/me/.javacpp/cache'"))))
                .isEmpty();
    }

    @Test
    void twoHostsOfOneName() {
        Finding finding = only(Diagnosis.SAME_NAME, host("a"), host("b"), host("c", "names.hostname='b'"));

        assertThat(finding.hosts()).containsExactly("b", "c");
        assertThat(finding.found()).isEqualTo("b and c both call themselves b");
        assertThat(finding.command()).isEqualTo("ssh -p 2222 c hostname c");
    }

    @Test
    void oneMachineUnderTwoNames() {
        Finding finding =
                only(Diagnosis.SAME_HOST, host("a"), host("b", "names.hostname='a'", "names.machine='machine a'"));

        assertThat(finding.found()).isEqualTo("a and b are one machine, a");
        assertThat(finding.command()).isEqualTo("horovodrun -H a:4");
    }

    @Test
    void namesThatLeadNowhereOrElsewhere() {
        assertThat(only(Diagnosis.OWN_NAME, host("a", "names.resolved.a=[]")).found())
                .isEqualTo("its name a leads to no address");
        Finding unknown = only(Diagnosis.UNKNOWN_NAME, host("a"), host("b"), host("c", "names.resolved.a=[]"));
        assertThat(unknown.hosts()).containsExactly("c");
        assertThat(unknown.found()).isEqualTo("does not know a");
        assertThat(only(
                                Diagnosis.OTHER_ADDRESS,
                                host("a"),
                                host("b", "names.resolved.b=['127.0.1.1']"),
                                host("c", "names.resolved.b=['10.9.9.9']"))
                        .found())
                .isEqualTo("b: 10.0.0.2 on a; 10.9.9.9 on c");
    }

    @Test
    void aHostWithoutTheInterfacesAskedFor() {
        var inventory = new HostInventory(
                List.of(host("a"), host("b", "network.used=[]")),
                List.of(),
                OptionalLong.empty(),
                Made.GIB,
                "eth7",
                "");

        Finding finding = only(Diagnosis.NO_INTERFACE, inventory);

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("none of eth7, there are eth0, lo");
    }

    @Test
    void aHostThatAnotherCannotConnectTo() {
        var closed = MeasuredLink.refused("b", "a", new ListeningPort("eth0", "10.0.0.1", 4000), "Connection refused");
        var links = List.of(link("a", "b", 30, FAST, 0), closed);

        Finding finding = only(Diagnosis.NO_CONNECTION, inventory(links, host("a"), host("b")));

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("no connection to a at 10.0.0.1 (eth0): Connection refused");
        assertThat(finding.command()).isEqualTo("ssh -p 2222 a nft list ruleset");
    }

    @Test
    void oneOfTwoAddressesThatDoesNotAnswer() {
        var closed = MeasuredLink.refused("a", "b", new ListeningPort("eth1", "10.1.0.1", 4000), "connect timed out");

        Finding finding = only(
                Diagnosis.ONE_WAY_CLOSED,
                inventory(List.of(closed, link("a", "b", 30, FAST, 0)), host("a"), host("b")));

        assertThat(finding.found()).contains("10.1.0.1 (eth1)", "timed out");
        assertThat(finding.command()).isEqualTo("horovodrun --network-interfaces eth0");
    }

    @Test
    void aSlowAndALongWay() {
        assertThat(only(Diagnosis.SLOW_LINK, inventory(List.of(link("a", "b", 30, 99e6, 0)), host("a"), host("b")))
                        .found())
                .isEqualTo("99 MB/s to b over eth0");
        assertThat(only(Diagnosis.LONG_WAY, inventory(List.of(link("a", "b", 1_200, FAST, 0)), host("a"), host("b")))
                        .found())
                .isEqualTo("1.2 ms to b and back");
    }

    @Test
    void clocksThatDiffer() {
        var links = List.of(link("a", "b", 30, FAST, -2_500_000), link("b", "a", 30, FAST, 2_500_000));

        Finding finding = only(Diagnosis.CLOCKS_DIFFER, inventory(links, host("a"), host("b")));

        assertThat(finding.hosts()).containsExactly("b");
        assertThat(finding.found()).isEqualTo("its clock is 2.500 s behind that of a");
    }

    private static Finding only(Diagnosis diagnosis, Host... hosts) {
        return only(diagnosis, inventory(hosts));
    }

    private static Finding only(Diagnosis diagnosis, HostInventory inventory) {
        List<Finding> found = findings(inventory);
        assertThat(found).extracting(Finding::diagnosis).containsExactly(diagnosis);
        assertThat(found.get(0).command()).isNotBlank();
        return found.get(0);
    }
}
