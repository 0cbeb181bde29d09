package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.line.MpirunLine;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.words.Argument;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** mpijob.yaml, its image and the settings of ssh fit each other and horovodrun, as far as that shows without a cluster. */
final class KubernetesFilesTest {

    private static final Path ROOT = Path.of("..");
    private static final Path FOLDER = ROOT.resolve("mpirun-scripts/k8s");
    private static final Pattern COPIED = Pattern.compile("(?m)^COPY (?:--from=\\S+ )?(.*) (\\S+)$");
    private static final Map<String, String> BY_OPERATOR =
            Map.of("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "true");

    private final Object job;

    KubernetesFilesTest() throws IOException {
        var settings = LoadSettings.builder().setAllowDuplicateKeys(false).build();
        job = new Load(settings).loadFromString(Files.readString(FOLDER.resolve("mpijob.yaml")));
    }

    @Test
    void itIsAJobOfTheOperatorWithOneLauncherAndFourWorkers() {
        assertThat(at("apiVersion")).isEqualTo("kubeflow.org/v2beta1");
        assertThat(at("kind")).isEqualTo("MPIJob");
        assertThat(keys("spec"))
                .containsExactlyInAnyOrder(
                        "slotsPerWorker",
                        "mpiImplementation",
                        "launcherCreationPolicy",
                        "sshAuthMountPath",
                        "runPolicy",
                        "mpiReplicaSpecs");
        assertThat(keys("spec/mpiReplicaSpecs")).containsExactlyInAnyOrder("Launcher", "Worker");
        for (String replica : List.of("Launcher", "Worker")) {
            assertThat(keys("spec/mpiReplicaSpecs/" + replica)).containsOnly("replicas", "restartPolicy", "template");
        }
        assertThat(at("spec/mpiImplementation")).isEqualTo("OpenMPI");
        assertThat(at("spec/launcherCreationPolicy")).isEqualTo("WaitForWorkersReady");
        assertThat(at("spec/mpiReplicaSpecs/Launcher/replicas")).isEqualTo(1);
        assertThat(at("spec/mpiReplicaSpecs/Worker/replicas")).isEqualTo(4);
    }

    @Test
    void itsCommandIsOneThatHorovodrunTakesWithARankForEverySlotOnTheOperatorsHosts() {
        LaunchSettings settings = LaunchOptions.parse(BY_OPERATOR, strings(launcher("args")));
        var pod = new MachineFacts(
                "hvd-mnist-launcher",
                2,
                1000,
                true,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("hvd-mnist-launcher"),
                Set.of("lo", "eth0"),
                BY_OPERATOR);
        var version = MpiVersion.parse("mpirun (Open MPI) 4.1.4").orElseThrow();

        String line = MpirunLine.of(
                        "mpirun", new LaunchFacts(settings, pod, version), Argument.note(""), Optional.empty())
                .explained();

        int slots = (Integer) at("spec/slotsPerWorker") * (Integer) at("spec/mpiReplicaSpecs/Worker/replicas");
        assertThat(settings.ranks()).isEqualTo(slots);
        assertThat(settings.action()).isEqualTo(LaunchSettings.Action.RUN);
        assertThat(settings.notes()).isEmpty();
        assertThat(settings.command().get(0)).isEqualTo("java");
        assertThat(line)
                .contains("mpirun takes those of OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile")
                .contains("-x HVD_LAUNCHER_ADDRESS")
                .doesNotContain("oversubscribe", " -H ", "allow-run-as-root");
    }

    @Test
    void theImageHasWhatBothContainersCall() throws IOException {
        String image = Files.readString(FOLDER.resolve("Dockerfile"));
        List<String> copied = COPIED.matcher(image)
                .results()
                .flatMap(KubernetesFilesTest::targets)
                .toList();

        assertThat(copied).contains(strings(launcher("command"))).contains("/opt/hvd/train.jar", "/opt/hvd/lib");
        assertThat(strings(launcher("args"))).contains("/opt/hvd/train.jar");
        assertThat(strings(worker("command"))).containsExactly("/usr/sbin/sshd");
        assertThat(copied).contains(strings(worker("args"))[2]);
        assertThat(image).contains("openssh-server", "openmpi-bin", "--uid 1000", "USER 1000");
        assertThat(launcher("image")).isEqualTo(worker("image"));
        assertThat(List.of(at(launcher() + "/securityContext/runAsUser"), at(worker() + "/securityContext/runAsUser")))
                .containsOnly(1000);
        COPIED.matcher(image)
                .results()
                .flatMap(copy -> Stream.of(copy.group(1).split(" ")))
                .filter(source -> !source.contains("/target/") && !source.startsWith("/"))
                .forEach(source -> assertThat(ROOT.resolve(source)).exists());
    }

    @Test
    void sshAndSshdMeetOnTheProbedPortWithTheKeyThatTheOperatorMounts() throws IOException {
        String server = Files.readString(FOLDER.resolve("sshd_config"));
        String client = Files.readString(FOLDER.resolve("ssh_config"));
        Object port = at(worker() + "/readinessProbe/tcpSocket/port");

        assertThat(server)
                .contains("\nPort " + port + "\n")
                .contains("HostKey " + at("spec/sshAuthMountPath") + "/id_rsa\n")
                .contains("PasswordAuthentication no");
        assertThat(client)
                .contains(" Port " + port + "\n")
                .contains(at("spec/sshAuthMountPath") + "/id_rsa.pub\n")
                .contains("StrictHostKeyChecking yes");
    }

    @Test
    void theHeapLeavesRoomForLibTorchAndSharedMemoryIsARamDisk() {
        assertThat(strings(launcher("args"))).contains("-Xmx1g");
        assertThat(at(worker() + "/resources/limits/memory")).isEqualTo("4Gi");
        assertThat(at(worker() + "/resources/limits")).isEqualTo(at(worker() + "/resources/requests"));
        assertThat(at(worker() + "/volumeMounts/0/mountPath")).isEqualTo("/dev/shm");
        assertThat(at("spec/mpiReplicaSpecs/Worker/template/spec/volumes/0/emptyDir/medium"))
                .isEqualTo("Memory");
        assertThat(at("spec/mpiReplicaSpecs/Worker/template/spec/volumes/0/name"))
                .isEqualTo(at(worker() + "/volumeMounts/0/name"));
    }

    @Test
    void thePageSaysThatNothingOfThisHasRunOnACluster() throws IOException {
        assertThat(ROOT.resolve("docs/how-to/kubernetes.md")).content().contains("not been run on a cluster");
        assertThat(FOLDER.resolve("mpijob.yaml")).content().contains("Not yet run on a cluster");
    }

    /** A file is copied to a folder under its own name, a folder to the name that is given. */
    private static Stream<String> targets(MatchResult copy) {
        String to = copy.group(2);
        return to.endsWith("/")
                ? Stream.of(copy.group(1).split(" "))
                        .map(from -> to + Path.of(from).getFileName())
                : Stream.of(to);
    }

    private static String launcher() {
        return "spec/mpiReplicaSpecs/Launcher/template/spec/containers/0";
    }

    private static String worker() {
        return "spec/mpiReplicaSpecs/Worker/template/spec/containers/0";
    }

    private Object launcher(String key) {
        return at(launcher() + "/" + key);
    }

    private Object worker(String key) {
        return at(worker() + "/" + key);
    }

    private Set<Object> keys(String path) {
        return Set.copyOf(((Map<?, ?>) at(path)).keySet());
    }

    /** Kubernetes takes strings only, and refuses a plain 4. */
    private static String[] strings(Object list) {
        return ((List<?>) list).stream().map(String.class::cast).toArray(String[]::new);
    }

    private Object at(String path) {
        Object value = job;
        for (String step : path.split("/")) {
            value = value instanceof List<?> list ? list.get(Integer.parseInt(step)) : ((Map<?, ?>) value).get(step);
            assertThat(value).as(path).isNotNull();
        }
        return value;
    }
}
