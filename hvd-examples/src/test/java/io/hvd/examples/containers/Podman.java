package io.hvd.examples.containers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Containers of this machine's podman, on a network of their own with names, which all go when it is closed. */
final class Podman implements AutoCloseable {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path DOCKERFILE = ROOT.resolve("mpirun-scripts/k8s/Dockerfile");
    private static final long MINUTES_10 = 600;
    private static final long LIMIT_SECONDS = 120;

    private final Map<String, String> environment;
    private final String network;
    private final String image;
    private final List<String> containers = new ArrayList<>();

    private Podman(Map<String, String> environment, String network) {
        this.environment = environment;
        this.network = network;
        this.image = "localhost/" + network;
    }

    /** Builds the image as its file says, from a Debian like this one. */
    static Podman withImage(Path folder) throws IOException {
        String release = Files.readAllLines(Path.of("/etc/os-release")).stream()
                .filter(line -> line.startsWith("VERSION_CODENAME="))
                .map(line -> line.replaceFirst(".*=", ""))
                .findFirst()
                .orElseThrow();
        return withImage(folder, release, 17);
    }

    /**
     * Builds the image from another Debian, with its OpenJDK of that version. That needs the network once: the base image and
     * the layers of the build stay, as any build leaves them for the next one.
     */
    static Podman withImage(Path folder, String release, int java) throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs root, for podman's network and debootstrap");
        for (String program : List.of("podman", "buildah", "netavark", "aardvark-dns", "debootstrap", "ssh-keygen")) {
            assumeTrue(
                    isInstalled(program),
                    "needs " + program + ": apt-get install podman buildah runc netavark aardvark-dns debootstrap"
                            + " openssh-client");
        }
        Path settings = Files.writeString(
                folder.resolve("containers.conf"),
                "[containers]\ndefault_ulimits = [\"nofile=20000:20000\", \"nproc=4096:4096\"]\n"
                        + (isInstalled("runc") ? "[engine]\nruntime = \"runc\"\n" : "")
                        // the other one has no names, and stays that of a machine where podman was first run without
                        // this one
                        + "[network]\nnetwork_backend = \"netavark\"\n");
        Podman podman = new Podman(
                Map.of("CONTAINERS_CONF", settings.toString()),
                "hvd-test-" + ProcessHandle.current().pid());
        podman.build(podman.base(folder, release), java);
        podman.must(LIMIT_SECONDS, "podman", "network", "create", podman.network);
        return podman;
    }

    private static boolean isInstalled(String program) {
        return Stream.of("/usr/bin/", "/usr/sbin/", "/usr/lib/podman/", "/usr/libexec/podman/")
                .anyMatch(bin -> Files.isExecutable(Path.of(bin + program)));
    }

    /** The image that the next test takes as well: a Debian with this machine's settings of apt. */
    private String base(Path folder, String release) {
        String base = "localhost/debian:" + release;
        if (Job.run(List.of("podman", "image", "exists", base), environment).exitCode() != 0) {
            String root = folder.resolve("base").toString();
            Job made = Job.run(List.of("debootstrap", "--variant=minbase", release, root), environment, MINUTES_10);
            assumeTrue(made.exitCode() == 0, "debootstrap reaches no Debian: " + made.output());
            String shell =
                    "cp -r /etc/apt/apt.conf.d/. \"$1/etc/apt/apt.conf.d/\"; tar -C \"$1\" -c . | podman import - \"$2\"";
            must(MINUTES_10, "bash", "-c", shell, "bash", root, base);
            must(LIMIT_SECONDS, "rm", "-rf", "--one-file-system", root);
        }
        return base;
    }

    private void build(String base, int java) {
        List<String> words = new ArrayList<>(List.of("buildah", "bud", "--layers", "--isolation", "chroot"));
        words.addAll(List.of("--build-arg", "BASE=" + base, "--build-arg", "JAVA=" + java));
        words.addAll(List.of("-f", DOCKERFILE.toString(), "-t", image, ROOT.toString()));
        must(MINUTES_10, words.toArray(String[]::new));
    }

    /** Runs the image's own command, or another one, to its end. */
    Job run(List<String> flags, String... command) {
        return Job.run(line(List.of("podman", "run", "--rm", "--network", network), flags, command), environment);
    }

    /** Starts a container that goes on, with a name that the others on the network know. */
    void start(String name, List<String> flags, String... command) {
        String unique = network + "-" + name;
        containers.add(unique);
        List<String> words = List.of("podman", "run", "-d", "--name", unique, "--hostname", name, "--network", network);
        must(LIMIT_SECONDS, line(words, flags, command).toArray(String[]::new));
    }

    private List<String> line(List<String> words, List<String> flags, String... command) {
        return Stream.of(words, flags, List.of(image), List.of(command))
                .flatMap(List::stream)
                .toList();
    }

    String logs(String name) {
        return Job.run(List.of("podman", "logs", network + "-" + name), environment)
                .output();
    }

    /** Waits until the container has said so. */
    void await(String name, String words) throws InterruptedException {
        Pattern wanted = Pattern.compile(words);
        long begun = System.nanoTime();
        while (!wanted.matcher(logs(name)).find()) {
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun))
                    .as("seconds until \"" + words + "\" in\n" + logs(name))
                    .isLessThan(LIMIT_SECONDS);
            TimeUnit.MILLISECONDS.sleep(200);
        }
    }

    /** Sends SIGKILL. */
    void kill(String name) {
        must(LIMIT_SECONDS, "podman", "kill", network + "-" + name);
    }

    /** Sends SIGTERM, and SIGKILL 30 seconds later, as a cluster does. */
    void stop(String name) {
        must(LIMIT_SECONDS, "podman", "stop", "-t", "30", network + "-" + name);
    }

    /** Waits for its end. */
    int exitCode(String name) {
        return Integer.parseInt(
                must(LIMIT_SECONDS, "podman", "wait", network + "-" + name).trim());
    }

    private String must(long limitSeconds, String... words) {
        Job job = Job.run(List.of(words), environment, limitSeconds);
        assertThat(job.exitCode()).as("%s: %s", List.of(words), job.output()).isZero();
        return job.output();
    }

    /** Ends all containers that were started. */
    void clear() {
        containers.forEach(name -> Job.run(List.of("podman", "rm", "-f", "-t", "0", name), environment));
        containers.clear();
    }

    @Override
    public void close() {
        clear();
        Job.run(List.of("podman", "network", "rm", "-f", network), environment);
        Job.run(List.of("podman", "rmi", "-f", image), environment);
    }

    /** Bytes of the image's layers, the newest one first. */
    List<Long> layers() {
        return Pattern.compile("\"size\":(\\d+)")
                .matcher(must(LIMIT_SECONDS, "podman", "history", "--format", "json", image))
                .results()
                .map(found -> Long.valueOf(found.group(1)))
                .toList();
    }
}
