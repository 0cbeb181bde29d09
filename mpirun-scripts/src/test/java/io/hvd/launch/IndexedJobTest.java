package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.RankPlace.AtRankZero;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The parts of indexed-job.yaml fit each other, hvd and the image. */
final class IndexedJobTest {
    private static final Path FOLDER = Path.of("../mpirun-scripts/k8s");

    private final Map<?, ?> service;
    private final Map<?, ?> job;
    private final Map<?, ?> pod;
    private final Map<?, ?> container;

    IndexedJobTest() throws IOException {
        var settings = LoadSettings.builder().setAllowDuplicateKeys(false).build();
        var documents = new Load(settings)
                .loadAllFromString(Files.readString(FOLDER.resolve("indexed-job.yaml")))
                .iterator();
        service = (Map<?, ?>) documents.next();
        job = (Map<?, ?>) documents.next();
        assertThat(documents).isExhausted();
        pod = in(job, "spec", "template", "spec");
        container = (Map<?, ?>) ((List<?>) pod.get("containers")).get(0);
    }

    private static Map<?, ?> in(Map<?, ?> map, String... path) {
        Map<?, ?> found = map;
        for (String step : path) {
            found = (Map<?, ?>) found.get(step);
        }
        return found;
    }

    /** What pod {@code index} gets. */
    private Map<String, String> environment(int index) {
        Map<String, String> all = new HashMap<>(Map.of("JOB_COMPLETION_INDEX", "" + index));
        for (Object entry : (List<?>) container.get("env")) {
            Map<?, ?> variable = (Map<?, ?>) entry;
            Object value = variable.get("value");
            all.put((String) variable.get("name"), value == null ? "of the cluster" : (String) value);
        }
        return all;
    }

    @Test
    void everyPodIsARankAndAllRunAtOnce() {
        Map<?, ?> spec = in(job, "spec");
        int pods = (Integer) spec.get("completions");

        assertThat(job.get("kind")).isEqualTo("Job");
        assertThat(job.get("apiVersion")).isEqualTo("batch/v1");
        assertThat(spec.get("completionMode")).isEqualTo("Indexed");
        assertThat(spec.get("parallelism")).isEqualTo(pods);
        assertThat(spec.get("backoffLimit")).isEqualTo(0);
        assertThat(pod.get("restartPolicy")).isEqualTo("Never");
        for (int index = 0; index < pods; index++) {
            RankPlace place =
                    HvdConfig.from(environment(index)).started().place().orElseThrow();
            assertThat(place.rank()).isEqualTo(index);
            assertThat(place.size()).isEqualTo(pods);
        }
    }

    /** The controller names a pod by the job and the index, and its host the same; the service gives that an address. */
    @Test
    void theRanksMeetAtTheFirstPodWhoseNameTheHeadlessServiceKnows() {
        Object name = in(job, "metadata").get("name");
        Object domain = in(service, "metadata").get("name");
        HvdConfig config = HvdConfig.from(environment(1));
        var there =
                (AtRankZero) config.started().place().orElseThrow().meeting().orElseThrow();

        assertThat(there.hosts()).containsExactly(name + "-0." + domain);
        assertThat(pod.get("subdomain")).isEqualTo(domain);
        assertThat(service.get("kind")).isEqualTo("Service");
        assertThat(in(service, "spec").get("clusterIP")).isEqualTo("None");
        assertThat(in(service, "spec").get("publishNotReadyAddresses")).isEqualTo(true);
        assertThat(in(service, "spec", "selector")).isEqualTo(Map.of("job-name", name));
        assertThat(config.control().secret()).isPresent();
    }

    @Test
    void theImageHasWhatItRuns() throws IOException {
        String image = Files.readString(FOLDER.resolve("Dockerfile"));

        assertThat(container.get("command")).isEqualTo(List.of("java"));
        assertThat(container.get("args"))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .contains("/opt/hvd/train.jar");
        assertThat(image).contains("COPY hvd-examples/target/train.jar /opt/hvd/", "/opt/java/bin", "--uid 1000");
        assertThat(in(container, "securityContext").get("runAsUser")).isEqualTo(1000);
        assertThat(in(container, "resources", "limits")).isEqualTo(in(container, "resources", "requests"));
    }
}
