package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks on two hosts that ssh alone starts, where no PATH has an mpirun; as {@link NamespaceHostsIT} it needs root. */
@Tag("long")
@Timeout(180)
final class DirectHostsIT {

    private static final int LIMIT_SECONDS = 60;
    private static final Pattern RANK = Pattern.compile("rank (\\d) .* pid (\\d+) ");

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() throws IOException {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b");
        Files.createDirectories(folder.resolve("bin"));
        try (Stream<Path> programs = Files.list(Path.of("/usr/bin"))) {
            for (Path program : programs.filter(file -> !file.toString().matches(".*/(mpi|ort|prte).*"))
                    .toList()) {
                Files.createSymbolicLink(folder.resolve("bin").resolve(program.getFileName()), program);
            }
        }
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void fourRanksOnTwoHostsComputeTogether() {
        String odd = "a 'b' \"c\" $(exit 1) `id` \\ \nsecond line";

        Job job = Job.run(words(), environment(Map.of("ODD_VALUE", odd, "HOROVOD_SECRET_KEY", "hush")));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 10.0")).hasSize(4);
        assertThat(job.lines("rank 3 local 1 of 2 ")).hasSize(1);
        assertThat(job.lines(" cross 1 of 2")).hasSize(2);
        assertThat(job.lines("odd " + odd.hashCode() + " ")).hasSize(4);
        assertThat(job.lines(" secret null ")).as("on the other host").hasSize(2);
        assertThat(job.lines("no mpirun on PATH")).hasSize(1);
    }

    @Test
    void aRankThatIsKilledOnTheOtherHostIsNamedAndNoRankIsLeft() throws Exception {
        Process launcher = train(Map.of());
        List<Long> ranks = untilTheyTrain(launcher.inputReader());
        long begun = System.nanoTime();

        ProcessHandle.of(ranks.get(3)).orElseThrow().destroyForcibly();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        System.out.println("from the kill to the end: " + (System.nanoTime() - begun) / 1_000_000 + " ms");
        assertThat(launcher.exitValue()).isEqualTo(137);
        assertThat(Files.readString(folder.resolve("err")))
                .contains("first failure: rank 3 on node-b, pid " + ranks.get(3) + ", was ended by signal 9")
                .as("a rank that waits for none but survivors is told too")
                .contains("in consequence: rank 0 ", "in consequence: rank 1 ", "in consequence: rank 2 ");
        awaitEnd(ranks);
    }

    @Test
    void rankZeroOnTheOtherHostReadsTheInputAndEndsBeforeIt() throws Exception {
        Path input = Files.writeString(folder.resolve("input"), "first\nsecond\n");
        for (int most = 1; most <= 2; most++) {
            Process launcher = new ProcessBuilder(onNodeB("head", "-n", "" + most))
                    .redirectInput(input.toFile())
                    .redirectError(folder.resolve("err").toFile())
                    .start();
            assertThat(launcher.inputReader().lines())
                    .isEqualTo(List.of("first", "second").subList(0, most));
            assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(launcher.exitValue())
                    .as(Files.readString(folder.resolve("err")))
                    .isZero();
        }
        Process launcher = new ProcessBuilder(onNodeB("cat")).start();
        launcher.getOutputStream().write("typed\n".getBytes(StandardCharsets.UTF_8));
        launcher.getOutputStream().flush();
        assertThat(launcher.inputReader().readLine()).isEqualTo("typed");
        launcher.getOutputStream().close();
        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isZero();
    }

    /** Both ranks on the other host. */
    private static List<String> onNodeB(String... command) {
        List<String> words =
                new ArrayList<>(Job.program(Horovodrun.class, "--gloo", "-p", NamespaceHosts.PORT, "-i", hosts.key()));
        words.addAll(List.of("-np", "2", "-H", "node-b:2"));
        words.addAll(List.of(command));
        return hosts.on("node-a", words);
    }

    /** Nobody can end the ranks behind the cut: they and the shells that have started them notice it by themselves. */
    @Test
    void aHostWhoseCableIsPulledEndsTheJobAndIsNamedAndNothingIsLeftOnEitherHost() throws Exception {
        String own = "-Djava.io.tmpdir=" + folder.resolve("private"); // no host sees the launcher's temporary folder
        Process launcher = train(Map.of("JDK_JAVA_OPTIONS", own));
        List<Long> left = new ArrayList<>();
        for (long rank : untilTheyTrain(launcher.inputReader())) {
            left.add(rank);
            left.add(ProcessHandle.of(rank)
                    .flatMap(ProcessHandle::parent)
                    .orElseThrow()
                    .pid());
        }
        assertThat(left)
                .as("four ranks, the launcher, and a shell for each rank on the other host")
                .hasSize(8)
                .satisfies(pids -> assertThat(new HashSet<>(pids)).hasSize(7));

        long cutNanos = System.nanoTime();
        hosts.cut("node-b");
        boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - cutNanos) / 1e9;
        try {
            awaitEnd(left);
        } finally {
            hosts.mend("node-b");
        }

        String err = Files.readString(folder.resolve("err"));
        System.out.printf(Locale.ROOT, "the job ended %.1f s after the cut%n%s", seconds, err);
        assertThat(ended).as(err).isTrue();
        assertThat(seconds).isLessThan(15);
        assertThat(launcher.exitValue()).as(err).isNotZero();
        assertThat(err.substring(err.lastIndexOf("horovodrun: first failure")))
                .contains("host node-b with ranks [2, 3]");
    }

    @Test
    void aLauncherThatIsKilledTakesTheRanksOfBothHostsWithIt() throws Exception {
        Process launcher = train(Map.of());
        List<Long> ranks = untilTheyTrain(launcher.inputReader());

        launcher.destroyForcibly();

        awaitEnd(ranks);
    }

    private static Process train(Map<String, String> environment) throws IOException {
        var builder = new ProcessBuilder(words("train", "-1"))
                .redirectError(folder.resolve("err").toFile());
        builder.environment().putAll(environment(environment));
        return builder.start();
    }

    /** @return the ranks' processes, by rank */
    private static List<Long> untilTheyTrain(BufferedReader out) throws IOException {
        Long[] pids = new Long[4];
        for (int ready = 0; ready < pids.length; ) {
            String line = out.readLine();
            assertThat(line).as("all ranks train").isNotNull();
            ready += line.equals("ready") ? 1 : 0;
            Matcher place = RANK.matcher(line);
            if (place.find()) {
                pids[Integer.parseInt(place.group(1))] = Long.parseLong(place.group(2));
            }
        }
        return List.of(pids);
    }

    private static void awaitEnd(List<Long> ranks) throws Exception {
        for (long pid : ranks) {
            Optional<ProcessHandle> rank = ProcessHandle.of(pid);
            if (rank.isPresent()) {
                rank.get().onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
            }
        }
    }

    private static List<String> words(String... args) {
        List<String> words =
                new ArrayList<>(Job.program(Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key()));
        words.addAll(List.of("-np", "4", "-H", "node-a:2,node-b:2"));
        words.addAll(Job.program(HostsProgram.class, args));
        return hosts.on("node-a", words);
    }

    private static Map<String, String> environment(Map<String, String> more) {
        Map<String, String> environment = new java.util.HashMap<>(more);
        environment.put("PATH", folder.resolve("bin") + ":/usr/sbin:/sbin");
        environment.put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        environment.put("HVD_THREADS_PER_RANK", "1");
        return environment;
    }
}
