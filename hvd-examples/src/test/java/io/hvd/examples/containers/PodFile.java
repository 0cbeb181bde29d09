package io.hvd.examples.containers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/**
 * A container of a file of mpirun-scripts/k8s, as the flags and the command that podman takes for it.
 *
 * @param flags the user, rights, limits and variables; a variable of a secret has the test's
 * @param command the container's command and arguments
 */
record PodFile(List<String> flags, List<String> command) {
    private static final Path FOLDER = Path.of("../mpirun-scripts/k8s");

    /**
     * @param kind and name of the object in the file
     * @param path from its specification to the pod's specification
     */
    static PodFile of(String file, String kind, String name, String... path) throws IOException {
        var load = new Load(LoadSettings.builder().build());
        for (Object document : load.loadAllFromString(Files.readString(FOLDER.resolve(file)))) {
            Map<?, ?> object = (Map<?, ?>) document;
            if (object.get("kind").equals(kind)
                    && at(object, "metadata", "name").equals(name)) {
                Object pod = at(at(object, "spec"), path);
                return of((Map<?, ?>) at(pod, "containers", "0"));
            }
        }
        throw new IllegalArgumentException(file + " has no " + kind + " " + name);
    }

    private static Object at(Object from, String... path) {
        Object found = from;
        for (String step : path) {
            found = found instanceof List<?> list ? list.get(Integer.parseInt(step)) : ((Map<?, ?>) found).get(step);
        }
        return found;
    }

    private static PodFile of(Map<?, ?> container) {
        List<String> flags = new ArrayList<>();
        flags.addAll(List.of("--user", String.valueOf(at(container, "securityContext", "runAsUser"))));
        if (Boolean.FALSE.equals(at(container, "securityContext", "allowPrivilegeEscalation"))) {
            flags.addAll(List.of("--security-opt", "no-new-privileges"));
        }
        flags.addAll(limits((Map<?, ?>) at(container, "resources", "limits")));
        for (Object entry : container.containsKey("env") ? (List<?>) container.get("env") : List.of()) {
            Map<?, ?> variable = (Map<?, ?>) entry;
            Object value = variable.containsKey("value") ? variable.get("value") : "the secret of this test";
            flags.addAll(List.of("--env", variable.get("name") + "=" + value));
        }
        List<String> command = new ArrayList<>();
        for (String part : List.of("command", "args")) {
            ((List<?>) container.get(part)).forEach(word -> command.add((String) word));
        }
        return new PodFile(flags, command);
    }

    /** Kubernetes' Gi and Mi are podman's g and m; a pod has no swap. */
    private static List<String> limits(Map<?, ?> limits) {
        List<String> flags = new ArrayList<>();
        if (limits.containsKey("cpu")) {
            flags.addAll(List.of("--cpus", String.valueOf(limits.get("cpu"))));
        }
        String memory =
                String.valueOf(limits.get("memory")).replaceFirst("i$", "").toLowerCase(Locale.ROOT);
        flags.addAll(List.of("--memory", memory, "--memory-swap", memory));
        return flags;
    }

    /** With the last word, which is what is trained, replaced by others. */
    PodFile training(String... words) {
        List<String> changed = new ArrayList<>(command.subList(0, command.size() - 1));
        changed.addAll(List.of(words));
        return new PodFile(flags, changed);
    }

    /** Starts it as a pod in the domain of a headless service, in the namespace {@code default}. */
    void start(Podman podman, String name, String service, String... more) {
        start(podman, name, List.of(name + "." + service), List.of(more));
    }

    /** @param names those that services of the namespace {@code default} give the pod */
    void start(Podman podman, String name, List<String> names, List<String> more) {
        List<String> all = new ArrayList<>(flags);
        for (String alias : names) {
            for (String domain : List.of("", ".default.svc", ".default.svc.cluster.local")) {
                all.addAll(List.of("--network-alias", alias + domain));
            }
        }
        all.addAll(List.of("--dns-search", "default.svc.cluster.local", "--dns-option", "ndots:5"));
        all.addAll(List.of("--env", "KUBERNETES_SERVICE_HOST=10.96.0.1", "--env", "KUBERNETES_SERVICE_PORT=443"));
        all.addAll(more);
        podman.start(name, all, command.toArray(String[]::new));
    }
}
