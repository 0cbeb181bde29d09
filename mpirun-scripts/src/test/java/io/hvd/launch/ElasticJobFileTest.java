package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace.AtCoordinator;
import io.hvd.launch.options.ElasticSettings;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The parts of elastic-job.yaml fit each other, hvd and the image. */
final class ElasticJobFileTest {
    private static final Path FOLDER = Path.of("../mpirun-scripts/k8s");

    private final Map<?, ?> service;
    private final Map<?, ?> coordinator;
    private final Map<?, ?> workers;

    ElasticJobFileTest() throws IOException {
        var settings = LoadSettings.builder().setAllowDuplicateKeys(false).build();
        List<Map<?, ?>> documents = new ArrayList<>();
        new Load(settings)
                .loadAllFromString(Files.readString(FOLDER.resolve("elastic-job.yaml")))
                .forEach(document -> documents.add((Map<?, ?>) document));
        assertThat(documents).hasSize(3);
        service = documents.get(0);
        coordinator = documents.get(1);
        workers = documents.get(2);
    }

    private static Map<?, ?> in(Map<?, ?> map, String... path) {
        Map<?, ?> found = map;
        for (String step : path) {
            found = (Map<?, ?>) found.get(step);
        }
        return found;
    }

    private static Map<?, ?> pod(Map<?, ?> job) {
        return in(job, "spec", "template", "spec");
    }

    private static Map<?, ?> container(Map<?, ?> job) {
        List<?> all = (List<?>) pod(job).get("containers");
        assertThat(all).hasSize(1);
        return (Map<?, ?>) all.get(0);
    }

    /** Kubernetes takes strings only, and refuses a plain 4. */
    private static String[] words(Map<?, ?> job) {
        return ((List<?>) container(job).get("args"))
                .stream().map(String.class::cast).toArray(String[]::new);
    }

    /** What a pod gets, beside what is in every container. */
    private static Map<String, String> environment(Map<?, ?> job) {
        Map<String, String> all = new HashMap<>();
        for (Object entry : (List<?>) container(job).get("env")) {
            Map<?, ?> variable = (Map<?, ?>) entry;
            Object value = variable.get("value");
            all.put((String) variable.get("name"), value == null ? "of the cluster" : (String) value);
        }
        return all;
    }

    private static Set<Object> keys(Map<?, ?> map) {
        return Set.copyOf(map.keySet());
    }

    @Test
    void allPartsAreOfTheKindsAndHaveTheFieldsThatAreMeant() {
        assertThat(List.of(service.get("kind"), coordinator.get("kind"), workers.get("kind")))
                .containsExactly("Service", "Job", "Job");
        assertThat(List.of(service.get("apiVersion"), coordinator.get("apiVersion"), workers.get("apiVersion")))
                .containsExactly("v1", "batch/v1", "batch/v1");
        assertThat(keys(in(service, "spec"))).containsOnly("clusterIP", "publishNotReadyAddresses", "selector");
        assertThat(keys(in(coordinator, "spec"))).containsOnly("backoffLimit", "template");
        for (Map<?, ?> job : List.of(coordinator, workers)) {
            assertThat(keys(job)).containsOnly("apiVersion", "kind", "metadata", "spec");
            assertThat(keys(in(job, "spec", "template"))).containsOnly("metadata", "spec");
            assertThat(keys(pod(job))).containsOnly("restartPolicy", "containers");
            assertThat(keys(container(job)))
                    .containsOnly("name", "image", "securityContext", "command", "args", "env", "resources");
            assertThat(keys(in(container(job), "resources"))).containsOnly("requests", "limits");
        }
    }

    /** Without {@code completions} the job has ended when one pod has, and until then another is started for each that fails. */
    @Test
    void aWorkerThatFailsIsReplacedAndACoordinatorIsNot() {
        assertThat(keys(in(workers, "spec"))).containsOnly("parallelism", "backoffLimit", "template");
        assertThat((Integer) in(workers, "spec").get("backoffLimit")).isGreaterThan(0);
        assertThat(pod(workers).get("restartPolicy")).isEqualTo("Never");
        assertThat(in(coordinator, "spec").get("backoffLimit")).isEqualTo(0);
        assertThat(pod(coordinator).get("restartPolicy")).isEqualTo("Never");
    }

    @Test
    void theCoordinatorsFlagsAllowAsManyRanksAsThereArePods() {
        LaunchSettings settings = LaunchOptions.parse(environment(coordinator), words(coordinator));
        ElasticSettings elastic = settings.elastic().orElseThrow();

        assertThat(settings.action()).isEqualTo(LaunchSettings.Action.COORDINATE);
        assertThat(settings.notes()).isEmpty();
        assertThat(elastic.atMost()).isEqualTo(in(workers, "spec").get("parallelism"));
        assertThat(elastic.atLeast()).isLessThan(elastic.atMost());
    }

    @Test
    void theWorkersComeToItsPortAtTheNameThatTheHeadlessServiceGivesIt() {
        HvdConfig config = HvdConfig.from(environment(workers));
        AtCoordinator there = config.started().coordinator().orElseThrow();
        int port = LaunchOptions.parse(environment(coordinator), words(coordinator))
                .elastic()
                .orElseThrow()
                .coordinatorPort()
                .orElseThrow();
        String name = (String) in(service, "metadata").get("name");

        assertThat(there.with(config.control().secret()).sockets())
                .containsExactly(InetSocketAddress.createUnresolved(name, port));
        assertThat(in(service, "spec").get("clusterIP")).isEqualTo("None");
        assertThat(in(service, "spec").get("publishNotReadyAddresses")).isEqualTo(true);
        assertThat(in(service, "spec", "selector"))
                .isEqualTo(Map.of("job-name", in(coordinator, "metadata").get("name")));
    }

    @Test
    void bothHaveOneSecretOnNoCommandLine() {
        assertThat(environment(coordinator)).containsOnlyKeys("HVD_SECRET");
        for (Map<?, ?> job : List.of(coordinator, workers)) {
            assertThat((List<?>) container(job).get("env"))
                    .filteredOn(entry -> ((Map<?, ?>) entry).get("name").equals("HVD_SECRET"))
                    .singleElement()
                    .isEqualTo(Map.of(
                            "name",
                            "HVD_SECRET",
                            "valueFrom",
                            Map.of("secretKeyRef", Map.of("name", "hvd-elastic", "key", "secret"))));
        }
    }

    @Test
    void theImageHasWhatTheyRun() throws IOException {
        String image = Files.readString(FOLDER.resolve("Dockerfile"));

        assertThat(container(coordinator).get("command")).isEqualTo(List.of("/opt/hvd/bin/horovodrun"));
        assertThat(container(workers).get("command")).isEqualTo(List.of("java"));
        assertThat(words(workers)).contains("/opt/hvd/train.jar", "elastic-mnist");
        assertThat(image)
                .contains(
                        "COPY mpirun-scripts/horovodrun ", "/opt/hvd/bin/", "hvd-examples/target/train.jar /opt/hvd/");
        assertThat(container(coordinator).get("image"))
                .isEqualTo(container(workers).get("image"));
        for (Map<?, ?> job : List.of(coordinator, workers)) {
            assertThat(in(container(job), "securityContext"))
                    .isEqualTo(Map.of("runAsUser", 1000, "allowPrivilegeEscalation", false));
            assertThat(in(container(job), "resources", "limits").get("memory"))
                    .isEqualTo(in(container(job), "resources", "requests").get("memory"));
        }
    }
}
