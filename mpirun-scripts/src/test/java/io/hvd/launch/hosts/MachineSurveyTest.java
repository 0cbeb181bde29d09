package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MachineSurveyTest {

    @TempDir
    private Path root;

    @Test
    void coresAreThePhysicalOnesAmongTheAllowedProcessors() throws IOException {
        write("proc/self/status", "Name:\tjava\nCpus_allowed_list:\t0-3,6\n");
        for (int cpu = 0; cpu < 8; cpu++) {
            write("sys/devices/system/cpu/cpu" + cpu + "/topology/physical_package_id", cpu / 4 + "\n");
            write("sys/devices/system/cpu/cpu" + cpu + "/topology/core_id", cpu % 4 / 2 + "\n");
        }

        assertThat(survey(Map.of()).cores()).isEqualTo(3); // 0+1 and 2+3 share a core; 6 stands alone
    }

    @Test
    void aSystemThatTellsNothingHasTheProcessorsOfTheJvm() {
        assertThat(survey(Map.of()).cores()).isEqualTo(Runtime.getRuntime().availableProcessors());
    }

    @Test
    void theHostNameIsKnownInFullAndInShort() throws IOException {
        write("proc/sys/kernel/hostname", "node7.cluster.example\n");

        MachineFacts machine = survey(Map.of()).survey(List.of());

        for (String name : List.of("node7", "node7.cluster.example", "node7.other", "localhost", "127.0.0.1")) {
            assertThat(machine.is(name)).as(name).isTrue();
        }
        for (String name : List.of("node8", "node70", "10.0.0.7")) {
            assertThat(machine.is(name)).as(name).isFalse();
        }
    }

    @Test
    void containersAreKnownByTheirFilesOrVariables() throws IOException {
        assertThat(survey(Map.of()).survey(List.of()).container()).isFalse();
        assertThat(survey(Map.of("KUBERNETES_SERVICE_HOST", "10.0.0.1"))
                        .survey(List.of())
                        .container())
                .isTrue();
        write(".dockerenv", "");
        assertThat(survey(Map.of()).survey(List.of()).container()).isTrue();
    }

    @Test
    void aFabricIsADeviceWithAnActivePort() throws IOException {
        device("mlx5_0", "mlx5_core", "4: ACTIVE", "InfiniBand");
        device("mlx5_1", "mlx5_core", "1: DOWN", "InfiniBand");
        device("mlx5_2", "mlx5_core", "4: ACTIVE", "Ethernet");
        device("rdmap0s6", "efa", "4: ACTIVE", "Unspecified");

        assertThat(survey(Map.of()).survey(List.of()).fabric())
                .contains("mlx5_0 (InfiniBand), mlx5_2 (RoCE), rdmap0s6 (EFA)");
    }

    @Test
    void aDeviceWithoutActivePortIsNoFabric() throws IOException {
        device("mlx5_1", "mlx5_core", "1: DOWN", "InfiniBand");

        assertThat(survey(Map.of()).survey(List.of()).fabric()).isEmpty();
    }

    @Test
    void thisMachineCanBeSurveyed() {
        MachineFacts machine = new MachineSurvey(Path.of("/"), System.getenv()).survey(List.of());

        assertThat(machine.cores()).isBetween(1, Runtime.getRuntime().availableProcessors());
        assertThat(machine.uid() == 0).isEqualTo("root".equals(System.getProperty("user.name")));
    }

    private void device(String name, String driver, String state, String linkLayer) throws IOException {
        String device = "sys/class/infiniband/" + name;
        write(device + "/ports/1/state", state + "\n");
        write(device + "/ports/1/link_layer", linkLayer + "\n");
        Files.createDirectories(root.resolve("sys/bus/drivers/" + driver));
        Files.createDirectories(root.resolve(device + "/device"));
        Files.createSymbolicLink(root.resolve(device + "/device/driver"), root.resolve("sys/bus/drivers/" + driver));
    }

    private MachineSurvey survey(Map<String, String> environment) {
        return new MachineSurvey(root, environment);
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
