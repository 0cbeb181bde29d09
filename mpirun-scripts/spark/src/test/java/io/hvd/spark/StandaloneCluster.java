package io.hvd.spark;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A standalone cluster of real processes: a master and workers from the class path of the tests, on the loopback, at ports that the
 * system chooses. Executors have Spark's jars; those of hvd come with the application.
 */
final class StandaloneCluster implements AutoCloseable {
    private static final Pattern MASTER = Pattern.compile("Starting Spark master at (spark://\\S+)");
    private static final long START_SECONDS = 60;

    private final Path folder;
    private final List<Process> processes = new ArrayList<>();
    private final String master;

    /**
     * Starts the processes, without waiting for the workers.
     *
     * @param cores of each worker
     * @param options of the workers' JVMs
     */
    StandaloneCluster(Path folder, int workers, int cores, List<String> options) throws Exception {
        this.folder = folder;
        Files.createDirectories(folder.resolve("home/jars"));
        start("master", List.of(), "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0");
        try {
            master = awaitMaster();
            for (int i = 0; i < workers; i++) {
                start(
                        "worker" + i,
                        options,
                        "org.apache.spark.deploy.worker.Worker",
                        "--host",
                        "127.0.0.1",
                        "-c",
                        String.valueOf(cores),
                        "-m",
                        "1G",
                        "-d",
                        folder.resolve("work" + i).toString(),
                        master);
            }
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    /** The address of the master. */
    String master() {
        return master;
    }

    /** A folder of its own for an application. */
    String folder(String name) {
        return folder.resolve(name).toString();
    }

    /** What a process has written. */
    private String log(String name) throws IOException {
        return Files.readString(folder.resolve(name + ".log"));
    }

    private void start(String name, List<String> options, String main, String... arguments) throws IOException {
        List<String> line = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx200m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        line.addAll(opens());
        line.addAll(options);
        line.addAll(List.of("-cp", sparksJars(), main, "--webui-port", "0"));
        line.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(name + ".log").toFile());
        builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
        builder.environment().put("SPARK_HOME", folder.resolve("home").toString());
        builder.environment().put("SPARK_SCALA_VERSION", "2.13");
        processes.add(builder.start());
    }

    private String awaitMaster() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (System.nanoTime() < deadline && processes.get(0).isAlive()) {
            Matcher found = MASTER.matcher(log("master"));
            if (found.find()) {
                return found.group(1);
            }
            Thread.sleep(50);
        }
        throw new IOException("no master after " + START_SECONDS + " s: " + log("master"));
    }

    /** What Java lets Spark open. */
    static List<String> opens() {
        return List.of(System.getProperty("hvd.test.opens", "").split(" "));
    }

    /** The class path of the tests without hvd's own. */
    static String sparksJars() {
        List<String> own = own().stream().map(Path::toString).toList();
        return Stream.of(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                        .split(File.pathSeparator))
                .filter(entry -> !own.contains(entry))
                .reduce((one, other) -> one + File.pathSeparator + other)
                .orElseThrow();
    }

    private static List<Path> own() {
        return Stream.of(io.hvd.Hvd.class, io.hvd.data.Dataset.class, HvdSpark.class, StandaloneCluster.class)
                .map(type -> Path.of(
                        type.getProtectionDomain().getCodeSource().getLocation().getPath()))
                .toList();
    }

    /** hvd's own jars, and one of the tests. */
    String[] applicationsJars() throws IOException {
        List<String> jars = new ArrayList<>();
        for (Path one : own()) {
            jars.add((Files.isDirectory(one) ? packed(one, jars.size()) : one).toString());
        }
        return jars.toArray(String[]::new);
    }

    private Path packed(Path classes, int number) throws IOException {
        Path jar = folder.resolve("classes" + number + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                entries.putNextEntry(new JarEntry(classes.relativize(file).toString()));
                Files.copy(file, entries);
            }
        }
        return jar;
    }

    /** The workers end their executors. */
    @Override
    public void close() throws Exception {
        for (int i = processes.size() - 1; i >= 0; i--) {
            processes.get(i).destroy();
        }
        for (Process process : processes) {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }
}
