package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.RankPlace.AtRankZero;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The files for Kubernetes have fields that it knows, all that they must have, and values that these may have, and those for Kubeflow Trainer fit hvd. */
final class KubernetesFieldsTest {
    private static final Path FOLDER = Path.of("../mpirun-scripts/k8s");
    private static final Pattern EXPORT = Pattern.compile("(HOROVOD_SIZE|HVD_RENDEZVOUS)=\"([^\"]+)\"");

    private final KubernetesFields fields = new KubernetesFields();

    KubernetesFieldsTest() throws IOException {}

    private static String text(String file) throws IOException {
        return Files.readString(FOLDER.resolve(file));
    }

    private static Iterable<Object> documents(String text) {
        var settings = LoadSettings.builder().setAllowDuplicateKeys(false).build();
        return new Load(settings).loadAllFromString(text);
    }

    private List<String> mistakes(String text) {
        List<String> all = new ArrayList<>();
        documents(text).forEach(document -> all.addAll(fields.mistakes((Map<?, ?>) document)));
        return all;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"indexed-job.yaml", "elastic-job.yaml", "mpijob.yaml", "training-runtime.yaml", "train-job.yaml"
            })
    void everyFieldIsKnownAndHasItsType(String file) throws IOException {
        assertThat(mistakes(text(file))).isEmpty();
    }

    private List<String> mistakes(String file, String part, String other) throws IOException {
        assertThat(text(file)).contains(part);
        return mistakes(text(file).replaceFirst(Pattern.quote(part), Matcher.quoteReplacement(other)));
    }

    @Test
    void unknownFieldsAreFound() throws IOException {
        assertThat(mistakes("train-job.yaml", "numNodes: 4", "nodes: 4"))
                .containsExactly("/spec/trainer/nodes is no field of Trainer");
        assertThat(mistakes("indexed-job.yaml", "completions: 4", "completion: 4"))
                .singleElement()
                .asString()
                .contains("`completion`", "not defined in the `V1JobSpec`")
                .doesNotContain("{");
        assertThat(mistakes("mpijob.yaml", "allowPrivilegeEscalation", "escalation"))
                .singleElement()
                .asString()
                .startsWith("/spec/mpiReplicaSpecs/Launcher/template: ")
                .contains("`escalation`", "`V1SecurityContext`");
        assertThat(mistakes("training-runtime.yaml", "kind: ClusterTrainingRuntime", "kind: Runtime"))
                .isNotEmpty();
    }

    @Test
    void missingFieldsAreFound() throws IOException {
        assertThat(mistakes("train-job.yaml", "    name: hvd\n", "    kind: ClusterTrainingRuntime\n"))
                .containsExactly("/spec/runtimeRef has no name");
        assertThat(mistakes("mpijob.yaml", "    Launcher:", "    Worker0:"))
                .containsExactly(
                        "/spec/mpiReplicaSpecs/Worker0 is no field of MpiReplicas",
                        "/spec/mpiReplicaSpecs has no Launcher");
        assertThat(mistakes("indexed-job.yaml", "operator: In\n          values", "values"))
                .singleElement()
                .asString()
                .contains("required field `operator` is not found");
        assertThat(mistakes("training-runtime.yaml", "- name: node\n                      image", "- image"))
                .singleElement()
                .asString()
                .startsWith("/spec/template/spec/replicatedJobs/0/template: ")
                .contains("required field `name` is not found");
    }

    @Test
    void valuesThatTheirFieldsMayNotHaveAreFound() throws IOException {
        assertThat(mistakes("train-job.yaml", "numNodes: 4", "numNodes: \"4\""))
                .containsExactly("/spec/trainer/numNodes is 4, expected int");
        assertThat(mistakes("train-job.yaml", "\"20\"", "20"))
                .containsExactly("/spec/trainer/args/2 is 20, expected string");
        assertThat(mistakes("indexed-job.yaml", "value: \"4\"", "value: 4"))
                .containsExactly("/spec/template/spec/containers/0/env/0/value is 4, expected \"4\"");
        assertThat(mistakes("indexed-job.yaml", "parallelism: 4", "parallelism: \"4\""))
                .containsExactly("/spec/parallelism is \"4\", expected 4");
        assertThat(mistakes("indexed-job.yaml", "memory: 4Gi", "memory: four")).hasSize(1);
        assertThat(mistakes("mpijob.yaml", "mpiImplementation: OpenMPI", "mpiImplementation: OpenMpi"))
                .containsExactly("/spec/mpiImplementation is OpenMpi, expected OpenMPI|Intel|MPICH");
        assertThat(mistakes("indexed-job.yaml", "completionMode: Indexed", "completionMode: indexed"))
                .containsExactly("/spec/completionMode is \"indexed\", expected NonIndexed|Indexed");
        assertThat(mistakes("indexed-job.yaml", "action: Ignore", "action: Ignored"))
                .containsExactly(
                        "/spec/podFailurePolicy/rules/1/action is \"Ignored\", expected FailJob|FailIndex|Ignore|Count");
        assertThat(mistakes("training-runtime.yaml", "restartPolicy: Never", "restartPolicy: Always"))
                .containsExactly("/spec/template/spec/replicatedJobs/0/template/spec/template/spec/restartPolicy is"
                        + " \"Always\", expected Never|OnFailure");
    }

    private static Object at(Object from, String path) {
        Object found = from;
        for (String step : path.split("/")) {
            found = found instanceof List<?> list ? list.get(Integer.parseInt(step)) : ((Map<?, ?>) found).get(step);
        }
        return found;
    }

    /** Trainer takes the job and the container of these names for those of the nodes, and gives them what PET_ stands for. */
    @Test
    void trainersRuntimeMakesEachPodARankThatKnowsTheFirstOne() throws IOException {
        Object runtime = documents(text("training-runtime.yaml")).iterator().next();
        Object job = documents(text("train-job.yaml")).iterator().next();
        Object node = at(runtime, "spec/template/spec/replicatedJobs/0");
        Object container = at(node, "template/spec/template/spec/containers/0");

        assertThat(at(job, "spec/runtimeRef/name")).isEqualTo(at(runtime, "metadata/name"));
        assertThat(List.of(at(node, "name"), at(container, "name"))).containsOnly("node");
        assertThat(at(node, "template/metadata/labels"))
                .isEqualTo(Map.of("trainer.kubeflow.org/trainjob-ancestor-step", "trainer"));
        int pods = (Integer) at(job, "spec/trainer/numNodes");
        String name = (String) at(job, "metadata/name");
        for (int index = 0; index < pods; index++) {
            HvdConfig config = HvdConfig.from(environment((String) at(container, "command/2"), name, pods, index));
            RankPlace place = config.started().place().orElseThrow();
            assertThat(List.of(place.rank(), place.size())).containsExactly(index, pods);
            assertThat(((AtRankZero) place.meeting().orElseThrow()).hosts())
                    .containsExactly(name + "-node-0-0." + name);
        }
    }

    /** What the shell exports in a pod with the variables of Trainer and of the job controller. */
    private static Map<String, String> environment(String script, String job, int pods, int index) {
        Map<String, String> trainers = Map.of(
                "$PET_NNODES", "" + pods, "$PET_MASTER_ADDR", job + "-node-0-0." + job, "$PET_MASTER_PORT", "29500");
        Map<String, String> all = new HashMap<>(Map.of("JOB_COMPLETION_INDEX", "" + index, "HVD_SECRET", "s"));
        EXPORT.matcher(script).results().forEach(export -> {
            String value = export.group(2);
            for (var variable : trainers.entrySet()) {
                value = value.replace(variable.getKey(), variable.getValue());
            }
            all.put(export.group(1), value);
        });
        return all;
    }
}
