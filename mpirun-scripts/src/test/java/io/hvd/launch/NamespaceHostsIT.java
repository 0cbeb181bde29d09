package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.faults.TuningProgram;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * horovodrun between hosts: three network namespaces of this machine, each with an sshd, its own name and its own
 * shared memory. Needs root, and what a machine without such a test has no use for, hence long.
 */
@Tag("long")
@Timeout(180)
public final class NamespaceHostsIT {

    private static final Pattern PID = Pattern.compile(" pid (\\d+)");
    private static final int LIMIT_SECONDS = 60;
    private static final List<String> SIX_RANKS = List.of("-np", "6", "-H", "node-a:2,node-b:2,node-c:2");

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b", "node-c");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void ranksOnThreeHostsFindEachOtherPastInterfacesThatLeadNowhere() {
        Job job = horovodrun(
                Map.of("HOROVOD_CYCLE_TIME", "9", "HOROVOD_SECRET_KEY", "hush"),
                "-np",
                "5",
                "-H",
                "node-a:2,node-b:2,node-c:1",
                "--cycle-time-ms",
                "3",
                "--verbose");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 15.0 cycle 3 ")).hasSize(5);
        assertThat(job.lines("rank 3 local 1 of 2 ")).hasSize(1);
        assertThat(job.lines("rank 4 local 0 of 1 ")).hasSize(1);
        assertThat(job.lines(" secret null ")).as("on other hosts").hasSize(3);
        assertThat(job.output())
                .contains("btl_tcp_if_exclude docker0,lo,virbr0", "used: here eth0; node-b eth0; node-c eth0")
                .contains("HOROVOD_SECRET_KEY")
                .doesNotContain("-x HOROVOD_SECRET_KEY", "-x HOROVOD_CYCLE_TIME -x");
    }

    /** mpirun, which runs on the first host, tells its ranks where itself is, but not where rank 0 is. */
    @Test
    void withoutMpiJarMpirunsRanksOnTwoHostsMeetWhereItIsOrAskForAPlace() {
        requireTrained(mpirunWithoutMpiJar("node-a:2,node-b:2"), "10.71.0.1");

        Job asking = mpirunWithoutMpiJar("node-b:2,node-c:2");
        assertThat(asking.exitCode()).as(asking.output()).isEqualTo(1);
        assertThat(asking.output())
                .contains("[HVD-104]", "Or go without MPI: ", "mpirun -x HVD_RENDEZVOUS=node-b:29400 ...")
                .doesNotContain(" sum ");

        requireTrained(mpirunWithoutMpiJar("node-b:2,node-c:2", "-x", "HVD_RENDEZVOUS=node-b:29400"), "10.71.0.2");
    }

    private static void requireTrained(Job job, String address) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 10.0")).as(job.output()).hasSize(4);
        assertThat(job.lines("rank 3 local 1 of 2 ")).hasSize(1);
        assertThat(job.lines("over tcp (" + address + ", as there is no Open MPI with its mpi.jar)"))
                .as(job.output())
                .hasSize(1);
    }

    private static Job mpirunWithoutMpiJar(String where, String... more) {
        List<String> words = new ArrayList<>(List.of("mpirun", "-np", "4", "-H", where));
        words.addAll(List.of("--mca", "oob_tcp_if_include", "eth0", "-x", "HVD_OPENMPI_HOME=/nonexistent"));
        words.addAll(List.of(
                "--mca",
                "plm_rsh_args",
                "-p " + NamespaceHosts.PORT + " -i " + hosts.key() + " -o StrictHostKeyChecking=no"));
        words.addAll(List.of(more));
        words.addAll(Job.program(HostsProgram.class));
        return Job.run(
                hosts.on("node-a", words),
                Map.of("OMPI_ALLOW_RUN_AS_ROOT", "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"));
    }

    @Test
    void valuesReachOtherHostsAsTheyAreAndAreNotEvaluated() throws IOException {
        Path evaluated = folder.resolve("evaluated");
        String odd = "a 'b' \"c\" $(touch " + evaluated + ") `id`; d=e,f\\ \nsecond line";

        Job job = horovodrun(Map.of("ODD_VALUE", odd), "-np", "2", "-H", "node-a:1,node-b:1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("odd " + odd.hashCode() + " ")).as(job.output()).hasSize(2);
        assertThat(evaluated).doesNotExist();
    }

    @Test
    void whatWasFoundIsRememberedUnlessItIsNotToBe() {
        String[] job = {"-np", "1", "-H", "node-a:1,node-b:1"};
        Path cache = folder.resolve("cache/hvd/hosts");
        horovodrun(Map.of(), job);
        assertThat(cache).content().contains("node-b from node-a -p 2222 -i ", "\tdocker0,eth0,lo\tname=node-b\n");

        // An ssh that reaches nobody is not asked; mpirun has its own.
        String agent = "--mpi-args=--mca plm_rsh_agent /usr/bin/ssh";
        Map<String, String> broken = Map.of("PATH", folder.resolve("broken") + ":" + System.getenv("PATH"));
        assertThat(horovodrun(broken, with(job, agent)).exitCode()).isZero();
        Job asked = horovodrun(broken, with(job, agent, "--disable-cache"));

        assertThat(asked.exitCode()).isEqualTo(2);
        assertThat(asked.output()).contains("hosts-unreachable", "node-b: this ssh is broken");
    }

    @Test
    void aStrangersKeyIsRefusedByEachHostAndEachIsNamed() {
        Job job = horovodrun(
                Map.of(), "-np", "3", "-H", "node-a:1,node-b:1,node-c:1", "-i", folder.resolve("stranger") + "");

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("0 of 2 other hosts", "hosts-unreachable")
                .containsPattern("node-b: .*Permission denied")
                .containsPattern("node-c: .*Permission denied")
                .doesNotContain("node-a: ");
    }

    @Test
    void anInterfaceThatAHostLacksIsNamed() {
        Job job = horovodrun(Map.of(), "-np", "2", "-H", "node-a:1,node-b:1", "--network-interfaces", "eth7");

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains("no-such-interface", "eth7", "docker0, eth0, lo");
    }

    @Test
    void theInterfaceAskedForIsUsed() {
        Job job = horovodrun(Map.of(), "-np", "2", "-H", "node-a:1,node-b:1", "--network-interfaces", "eth0");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 3.0")).hasSize(2);
    }

    @Test
    void aJobOnThisHostNeedsNoSshWhateverTheHostIsCalled() {
        for (String name : List.of("node-a", "localhost", "10.71.0.1", "node-a.example.org")) {
            Job job = horovodrun(
                    Map.of("PATH", folder.resolve("broken") + ":" + System.getenv("PATH")),
                    "-np",
                    "2",
                    "-H",
                    name + ":2");

            assertThat(job.exitCode()).as(name + ": " + job.output()).isZero();
            assertThat(job.lines("sum 3.0")).hasSize(2);
        }
    }

    @Test
    void filesOfEachRankLieOnItsHost() throws IOException {
        Path output = folder.resolve("output");

        Job job = horovodrun(Map.of(), "-np", "2", "-H", "node-a:1,node-b:1", "--output-filename", output + "");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(Files.readString(output.resolve("rank.1/stdout"))).contains("rank 1 local 0 of 1 sum 3.0");
    }

    @Test
    void sigtermEndsTheRanksOnOtherHostsToo() throws Exception {
        Process launcher = new ProcessBuilder(words(List.of("-np", "2", "-H", "node-a:1,node-b:1"), "wait"))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        List<ProcessHandle> ranks = new ArrayList<>();
        var out = launcher.inputReader();
        for (int ready = 0; ready < 2; ) {
            String line = out.readLine();
            assertThat(line).as("both ranks get ready").isNotNull();
            ready += line.equals("ready") ? 1 : 0;
            PID.matcher(line)
                    .results()
                    .forEach(pid -> ranks.add(
                            ProcessHandle.of(Long.parseLong(pid.group(1))).orElseThrow()));
        }

        launcher.destroy();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(ranks).hasSize(2);
        for (ProcessHandle rank : ranks) {
            rank.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void aRankOnAnotherHostThatFailsIsTheFirstFailureWithItsStack() throws Exception {
        Job job = Job.run(words(SIX_RANKS, "train", "4"), with(ownFolders()));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        String screen = screen(job.output());
        assertThat(screen)
                .contains("first failure: rank 4 on node-c, pid ", "the loss is NaN", "HostsProgram.train(")
                .contains("  in consequence: rank 2 on node-b, ", "  in consequence: rank 3 on node-b, ");
    }

    @Test
    void aRankThatIsKilledOnAnotherHostIsNamedWithItsHost() throws Exception {
        var builder = new ProcessBuilder(words(SIX_RANKS, "train", "-1"))
                .redirectError(folder.resolve("err").toFile());
        builder.environment().putAll(with(ownFolders()));
        Process launcher = builder.start();
        List<String> said = untilAllTrain(launcher, folder.resolve("err"));
        String victim = said.stream()
                .filter(line -> line.startsWith("rank 4 "))
                .findFirst()
                .orElseThrow();
        long pid = Long.parseLong(
                PID.matcher(victim).results().findFirst().orElseThrow().group(1));

        assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        String err = Files.readString(folder.resolve("err"));
        System.out.print(err);
        assertThat(launcher.exitValue()).as(err).isEqualTo(137);
        assertThat(screen(err)).contains("horovodrun: exit code 137 (a rank was killed by signal 9");
        if (err.contains("noticed that process rank 4")) { // mpirun itself may lose its last words
            assertThat(screen(err))
                    .contains("first failure: rank 4 on node-c, pid " + pid + ", was ended by signal 9 (first noticed");
        } else {
            assertThat(screen(err))
                    .contains("first failure: what failed left no record of its own; noticed first by rank ")
                    .contains("node-c")
                    .containsPattern("rank 4 is gone|ranks \\[4, 5\\]");
        }
        awaitEndOf(said);
    }

    /** The caller runs on the first host; the other one has no access to its folder of results. */
    @Test
    void aJavaProgramGetsTheResultsOfRanksOnAnotherHost() {
        List<String> words = Job.program(TwoHostsCaller.class, hosts.key());

        Job job = Job.run(hosts.on("node-a", words), with(ownFolders()));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("result 0: rank 0 of 2 sum 3.0 ")).as(job.output()).hasSize(1);
        assertThat(job.lines("result 1: rank 1 of 2 sum 3.0 ")).as(job.output()).hasSize(1);
    }

    @Test
    void aHostWhoseCableIsPulledEndsTheJobWithinTenSecondsAndIsNamedWithItsRanks() throws Exception {
        var builder = new ProcessBuilder(words(SIX_RANKS, "train", "-1"))
                .redirectError(folder.resolve("err").toFile());
        builder.environment().putAll(with(ownFolders()));
        Process launcher = builder.start();
        List<String> said = untilAllTrain(launcher, folder.resolve("err"));
        assertThat(said)
                .anyMatch(line -> line.matches("rank 3 local 1 of 2 .* cross 1 of 3"))
                .anyMatch(line -> line.matches("rank 4 local 0 of 2 .* cross 2 of 3"));

        long cutNanos = System.nanoTime();
        hosts.cut("node-c");
        boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - cutNanos) / 1e9;
        hosts.mend("node-c");

        String err = Files.readString(folder.resolve("err"));
        System.out.printf(Locale.ROOT, "the job ended %.1f s after the cut%n%s", seconds, err);
        assertThat(ended).as(err).isTrue();
        assertThat(seconds).isLessThan(10);
        assertThat(launcher.exitValue()).isNotZero();
        assertThat(screen(err)).contains("host node-c with ranks [4, 5]", "rank 0 on node-a", "rank 2 on node-b");
        awaitEndOf(said);
    }

    @Test
    void aHostThatIsGoneIsLeftOutWhenTheJobIsStartedAgain() throws Exception {
        List<String> flags = new ArrayList<>(List.of("--restarts", "1", "--min-np", "2", "--start-timeout", "10"));
        flags.addAll(SIX_RANKS);
        var builder = new ProcessBuilder(words(flags, "train", "-1"))
                .redirectError(folder.resolve("restart-err").toFile());
        builder.environment().putAll(with(ownFolders()));
        Process launcher = builder.start();
        untilAllTrain(launcher, folder.resolve("restart-err"));

        hosts.cut("node-c");
        List<String> again = launcher.inputReader().lines().toList();
        boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        hosts.mend("node-c");

        String err = Files.readString(folder.resolve("restart-err"));
        assertThat(ended).as(err).isTrue();
        assertThat(launcher.exitValue()).as(err).isZero();
        assertThat(err)
                .contains("host node-c with ranks [4, 5]", "node-c is left out, ssh does not reach it")
                .contains("restart 1 of 1, with 4 ranks on node-a:2,node-b:2");
        assertThat(again).filteredOn("started again"::equals).hasSize(4);
        assertThat(again).anyMatch(line -> line.startsWith("rank 3 local 1 of 2 sum 10.0 "));
    }

    /** mpirun itself still waits for the lost host a quarter of an hour later, so one of its ranks has to end it. */
    @Test
    void plainMpirunEndsTooWhenACableIsPulled() throws Exception {
        List<String> dry = new ArrayList<>(SIX_RANKS);
        dry.add("--dry-run");
        Job line = Job.run(words(dry, "train", "-1"), with(Map.of()));
        assertThat(line.exitCode()).as(line.output()).isZero();
        String mpirun = line.output()
                .lines()
                .filter(words -> words.startsWith("mpirun "))
                .findFirst()
                .orElseThrow(() -> new AssertionError(line.output()))
                .replace("plm_rsh_args '", "plm_rsh_args '-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null ")
                .replaceAll("--mca oob_tcp_keepalive_\\S+ \\d+ ", ""); // with which mpirun itself would notice
        var builder = new ProcessBuilder(hosts.on("node-a", List.of("sh", "-c", "exec " + mpirun)))
                .redirectError(folder.resolve("plain-err").toFile());
        builder.environment().putAll(with(Map.of()));
        Process launcher = builder.start();
        List<String> said = untilAllTrain(launcher, folder.resolve("plain-err"));

        long cutNanos = System.nanoTime();
        hosts.cut("node-c");
        boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - cutNanos) / 1e9;
        hosts.mend("node-c");

        String err = Files.readString(folder.resolve("plain-err"));
        System.out.printf(Locale.ROOT, "plain mpirun ended %.1f s after the cut%n%s", seconds, err);
        assertThat(ended).as(err).isTrue();
        assertThat(launcher.exitValue()).isNotZero();
        assertThat(err).contains("host node-c with ranks [4, 5] has disappeared");
        awaitEndOf(said);
    }

    private static List<String> untilAllTrain(Process launcher, Path err) throws IOException {
        List<String> said = new ArrayList<>();
        var out = launcher.inputReader();
        while (said.stream().filter("ready"::equals).count() < 6) {
            String line = out.readLine();
            if (line == null) {
                throw new AssertionError("not all ranks train: " + Files.readString(err));
            }
            said.add(line);
        }
        return said;
    }

    private static void awaitEndOf(List<String> said) throws Exception {
        for (String line : said) {
            for (var pid : PID.matcher(line).results().toList()) {
                Optional<ProcessHandle> rank = ProcessHandle.of(Long.parseLong(pid.group(1)));
                if (rank.isPresent()) {
                    rank.get().onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
                }
            }
        }
    }

    /** No host sees what the launcher's host has in its temporary folder. */
    private static Map<String, String> ownFolders() {
        return Map.of("JDK_JAVA_OPTIONS", "-Djava.io.tmpdir=" + folder.resolve("private"));
    }

    private static String screen(String output) {
        int from = output.lastIndexOf("horovodrun: first failure");
        assertThat(from).as(output).isNotNegative();
        return output.substring(from);
    }

    /** The program checks the sums of every step; the settings of the end are the same on all ranks. */
    @Test
    void autotuneTriesWithAndWithoutAddingInsideTheHostsFirst() throws IOException {
        Path log = folder.resolve("tune.csv");
        List<String> words = new ArrayList<>(
                Job.program(Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key(), "-np", "4"));
        words.addAll(List.of("-H", "node-a:2,node-b:2", "--autotune", "--autotune-log-file", log.toString()));
        words.addAll(List.of("--autotune-steps-per-sample", "2", "--fusion-threshold-mb", "1"));
        words.addAll(Job.program(TuningProgram.class));
        Job job = Job.run(
                hosts.on("node-a", words),
                with(Map.of("HVD_AUTOTUNE_SAMPLE_MILLIS", "1", "HVD_STATIC_PLAN_STEPS", "2")));

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> ranks = job.lines("TUNED ").stream()
                .map(line -> line.substring(line.indexOf("TUNED ")))
                .toList();
        assertThat(ranks)
                .hasSize(4)
                .containsOnly(ranks.get(0))
                .allSatisfy(
                        rank -> assertThat(rank).containsPattern("HOROVOD_HIERARCHICAL_ALLREDUCE=[01], HVD_BUCKET"));
        assertThat(Files.readAllLines(log).stream()
                        .filter(line -> line.endsWith(",search"))
                        .map(line -> line.charAt(0)))
                .contains('0', '1');
    }

    private static Job horovodrun(Map<String, String> environment, String... flags) {
        return Job.run(words(List.of(flags)), with(environment));
    }

    /** On the first host; the last of two values of a flag wins. */
    private static List<String> words(List<String> flags, String... args) {
        List<String> words =
                new ArrayList<>(Job.program(Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key()));
        words.addAll(flags);
        words.addAll(Job.program(HostsProgram.class, args));
        return hosts.on("node-a", words);
    }

    private static Map<String, String> with(Map<String, String> environment) {
        Map<String, String> all = new java.util.HashMap<>(environment);
        all.put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        all.put("HVD_THREADS_PER_RANK", "1");
        return all;
    }

    private static String[] with(String[] words, String... more) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    @BeforeAll
    static void plantABrokenSsh() throws IOException {
        Files.createDirectories(folder.resolve("broken"));
        Path ssh =
                Files.writeString(folder.resolve("broken/ssh"), "#!/bin/sh\necho this ssh is broken >&2\nexit 255\n");
        ssh.toFile().setExecutable(true);
    }
}
