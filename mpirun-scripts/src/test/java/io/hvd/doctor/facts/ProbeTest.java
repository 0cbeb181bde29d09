package io.hvd.doctor.facts;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.doctor.facts.Facts.Interface;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is read of a machine; of this one, and of files that a test has written. */
final class ProbeTest {

    private static final List<Interface> THREE = List.of(
            new Interface("docker0", List.of("172.17.0.1")),
            new Interface("eth0", List.of("10.0.3.4")),
            new Interface("eth1", List.of("192.168.7.1")));

    @TempDir
    private Path root;

    @Test
    void memoryIsThatOfTheMachineOrOfTheContainer() throws IOException {
        write("proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n");
        assertThat(new MemoryProbe(root).total()).isEqualTo(2048 * 1024);

        write("sys/fs/cgroup/memory.max", "max\n");
        assertThat(new MemoryProbe(root).total()).isEqualTo(2048 * 1024);

        write("sys/fs/cgroup/memory.max", "1000000\n");
        assertThat(new MemoryProbe(root).total()).isEqualTo(1_000_000);
    }

    @Test
    void anOldContainerHasItsLimitElsewhere() throws IOException {
        write("proc/meminfo", "MemTotal:        2048 kB\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n");

        assertThat(new MemoryProbe(root).total()).isEqualTo(900_000);
    }

    @Test
    void limitsAreThoseThatCountNow() throws IOException {
        write("proc/self/limits", """
                Limit                     Soft Limit           Hard Limit           Units
                Max processes             100                  200                  processes
                Max open files            1024                 4096                 files
                Max locked memory         unlimited            unlimited            bytes
                """);

        assertThat(new LimitProbe(root).limits(3, "efa")).isEqualTo(new Facts.Limits(1024, 100, -1, 3, "efa"));
    }

    @Test
    void aFolderThatIsNotThereHasNoRoom() {
        assertThat(FolderProbe.folder(root.resolve("shm")))
                .isEqualTo(new Facts.Folder(root.resolve("shm").toString(), 0, 0, false));
        assertThat(FolderProbe.folder(root)).satisfies(folder -> {
            assertThat(folder.total()).isPositive();
            assertThat(folder.writable()).isTrue();
        });
    }

    @Test
    void interfacesThatLeadOutAreUsedUnlessOthersAreAskedFor() {
        assertThat(NetworkProbe.used("", THREE)).containsExactly("eth0", "eth1");
        assertThat(NetworkProbe.used("eth1,ib0", THREE)).containsExactly("eth1");
        assertThat(NetworkProbe.used("10.0.0.0/16", THREE)).containsExactly("eth0");
        assertThat(NetworkProbe.used("10.0.4.0/24", THREE)).isEmpty();
        List<Interface> ipv6 = List.of(new Interface("eth0", List.of("fd00:0:0:0:0:0:0:1")));
        assertThat(NetworkProbe.used("", ipv6)).containsExactly("eth0");
        assertThat(NetworkProbe.used("fd00::/16", ipv6)).containsExactly("eth0");
        assertThat(NetworkProbe.used("mlx5_0:1,docker0", THREE)).containsExactly("docker0");
    }

    @Test
    void anInterfaceWithoutAddressCarriesNothing() {
        assertThat(NetworkProbe.used("", List.of(new Interface("eth0", List.of()))))
                .isEmpty();
    }

    @Test
    void aJarOfAnotherVersionIsNamedAndABadSettingToo() throws IOException {
        Path jar = Files.writeString(root.resolve("mpi.jar"), "no jar");

        Facts facts = facts(Map.of("HVD_MPI_JAR", jar.toString()));
        assertThat(facts.mpi().jar()).isEmpty();
        assertThat(facts.mpi().jarObstacle()).contains(jar.toString());
        assertThat(facts.mpi().bindings()).isTrue();

        assertThat(facts(Map.of("HVD_STRICT", "maybe")).badSetting()).contains("HVD_STRICT", "maybe");
    }

    @Test
    void thisMachineSaysAllOfIt() {
        Facts facts = facts(Map.of());

        assertThat(facts.mpi().version()).startsWith("Open MPI ");
        assertThat(facts.mpi().daemonPath()).endsWith("orted");
        assertThat(facts.mpi().jar()).endsWith(".jar");
        assertThat(facts.values()).containsKeys("Java version", "hvd classes");
        assertThat(facts.memory().heap()).isBetween(1L, facts.memory().total());
        assertThat(facts.memory().direct()).isEqualTo((128 << 20) + (4 << 20));
        assertThat(facts.limits().cores()).isPositive();
        assertThat(facts.names().resolved().get("localhost")).contains("127.0.0.1");
        assertThat(facts.network().interfaces()).extracting(Interface::name).contains("lo");
    }

    @Test
    void withoutMpiItSaysSo() {
        Facts facts = new Probe(Path.of("/"), Map.of("PATH", "/nowhere"), "/nowhere")
                .facts(List.of("localhost"), Map.of(), "");

        assertThat(facts.mpi().mpirun()).isEmpty();
        assertThat(facts.mpi().obstacle()).contains("mpirun is not on PATH");
        assertThat(facts.memory().total()).isPositive();
    }

    private static Facts facts(Map<String, String> settings) {
        return new Probe(Path.of("/"), System.getenv(), System.getenv("PATH"))
                .facts(List.of("localhost"), settings, "");
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
