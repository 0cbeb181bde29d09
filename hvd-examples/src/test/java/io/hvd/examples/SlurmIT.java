package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.tensor.Tensor;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs of a real Slurm: a slurmctld, and three nodes with a slurmd each that are network namespaces of this machine. Needs
 * root and packages that a machine without such a test has no use for, hence long.
 */
@Tag("long")
@Timeout(300)
class SlurmIT {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final List<String> NODES = List.of("node-a", "node-b", "node-c");
    private static final String BATCH =
            ROOT.resolve("mpirun-scripts/slurm/train.sbatch").toString();
    private static final String JAR =
            ROOT.resolve("hvd-examples/target/train.jar").toString();
    private static final List<String> DIGITS = List.of("java", "-jar", JAR, "digits", "--max-steps", "4");
    private static final List<String> TWO_ON_EACH =
            List.of("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "-N2", "-n4", "--ntasks-per-node=2");

    private static final List<String> WITHOUT_PMIX =
            List.of("srun", "--mpi=none", "--kill-on-bad-exit=1", "-N2", "-n4", "--ntasks-per-node=2");

    @TempDir
    private static Path folder;

    private static Path namespaces;
    private static Path slurm;

    @BeforeAll
    static void startSlurm() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs root, to make network namespaces");
        for (String program : List.of(
                "/usr/sbin/sshd", "/usr/bin/nsenter", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged")) {
            assumeTrue(
                    Files.isExecutable(Path.of(program)),
                    "needs " + program + ": apt-get install slurm-wlm munge libpmix-dev openssh-server iproute2");
        }
        Job types = Job.run(List.of("srun", "--mpi=list"), Map.of("SLURM_CONF", emptyConfiguration()));
        assumeTrue(types.output().contains("pmix"), "this Slurm has no PMIx: " + types.output());
        namespaces = script("/io/hvd/testing/namespaces.sh");
        slurm = script("/io/hvd/examples/slurm.sh");
        Job hosts = run(with(List.of(namespaces + "", folder + "", "up"), NODES));
        assumeTrue(hosts.exitCode() == 0, () -> "this machine allows no network namespaces: " + hosts.output());
        Job daemons = run(with(List.of(slurm + "", folder + "", namespaces + "", "up"), NODES));
        assertThat(daemons.exitCode()).as(daemons.output()).isZero();
    }

    @AfterAll
    static void stopSlurm() {
        if (slurm == null) {
            return;
        }
        run(List.of(slurm + "", folder + "", namespaces + "", "down"));
        run(List.of(namespaces + "", folder + "", "down"));
        assertThat(ProcessHandle.allProcesses().filter(SlurmIT::isOurs).map(ProcessHandle::info))
                .as("daemons and ranks left behind")
                .isEmpty();
    }

    @Test
    void srunMakesRanksOfItsTasksNodeByNode() {
        Job job = onFirstNode(TWO_ON_EACH, Job.program(HostsProgram.class));

        assertThat(job.exitCode()).as(job.output()).isZero();
        for (int rank = 0; rank < 4; rank++) {
            assertThat(job.lines("rank " + rank + " local " + rank % 2 + " of 2 sum 10.0"))
                    .as(job.output())
                    .hasSize(1);
        }
    }

    @Test
    void digitsTrainsUnderSrun() {
        assertTrainedOnTwoNodes(onFirstNode(TWO_ON_EACH, DIGITS));
    }

    /** MPI adds up four ranks in an order of its own, which shows in the last bits. */
    @Test
    void oneProcessOnEachNodeWithTwoThreadsTrainsToTheWeightsOfFourTasks() throws IOException {
        Map<String, Tensor> tasks = trained(TWO_ON_EACH);
        List<String> oneOnEach = List.of("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "-N2", "--ntasks-per-node=1");
        Map<String, Tensor> threads = trained(oneOnEach, "--threads", "2");

        assertThat(threads.keySet()).isEqualTo(tasks.keySet());
        assertThat(Weights.largestDifference(threads, tasks)).isLessThan(1e-5);
    }

    private static Map<String, Tensor> trained(List<String> launcher, String... flags) throws IOException {
        Path file = folder.resolve("of-" + (flags.length == 0 ? "tasks" : "threads") + ".safetensors");
        List<String> words = new ArrayList<>(List.of("java", "-jar", JAR, "digits", "--epochs", "1"));
        words.addAll(List.of("--checkpoint", file.toString()));
        words.addAll(Arrays.asList(flags));
        assertTrainedOnTwoNodes(onFirstNode(launcher, words));
        return Checkpoint.read(file).tensors();
    }

    @Test
    void digitsTrainsInABatchScriptUnderSrunMpirunAndHorovodrun() {
        for (String launcher : List.of("srun", "mpirun", "horovodrun")) {
            assertTrainedOnTwoNodes(batch(launcher));
        }
    }

    /**
     * Slurm looks at the time of jobs every half a minute, and sends the signal up to that long before the seconds that were
     * asked for. The next job is signalled by hand.
     */
    @Test
    void aJobWhoseTimeEndsSavesAtTheNextStepEndsWellAndTheNextOneGoesOn() {
        Path checkpoints = folder.resolve("checkpoints");
        List<String> training = List.of("java", "-jar", JAR, "digits", "--epochs", "1000000", "--checkpoint-every");
        List<String> flags = new ArrayList<>(training);
        flags.addAll(List.of("1000000", "--checkpoint-dir", checkpoints.toString()));

        Job ended = batch(List.of("batch"), List.of("--signal=TERM@10", "--time=2"), "srun", flags);
        Job resumed = batch(List.of("interrupt", ": test loss"), List.of(), "srun", flags);

        long saved = savedAtSigterm(ended);
        assertThat(checkpoints.resolve(String.format(Locale.ROOT, "step-%010d.safetensors", saved)))
                .exists();
        assertThat(resumed.lines(String.format(Locale.ROOT, "going on from %s/step-%010d", checkpoints, saved)))
                .as(resumed.output())
                .hasSize(1);
        assertThat(savedAtSigterm(resumed)).isGreaterThan(saved);
    }

    /** Slurm waits with a job that queues itself again until its credentials have run out, here after some seconds. */
    @Test
    void aJobThatHasSavedQueuesItselfAgainAndIsDoneInTheEnd() {
        List<String> training = new ArrayList<>(List.of("java", "-jar", JAR, "digits", "--epochs", "6"));
        training.addAll(
                List.of("--checkpoint-dir", folder.resolve("requeued").toString(), "--sigterm-exit-code", "75"));

        Job job = batch(List.of("interrupt", "epoch 1/6"), List.of(), "srun", training);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("JobState=COMPLETED")).as(job.output()).hasSize(1);
        assertThat(job.lines("SIGTERM: ending after step")).as(job.output()).hasSize(1);
        assertThat(job.lines("going on from")).as(job.output()).hasSize(1);
        assertThat(job.lines("RESULT example=digits ranks=4 epochs=6"))
                .as(job.output())
                .hasSize(1);
    }

    /** The tasks of a job need not be as many on each node; Slurm fills them one after the other. */
    @Test
    void nodesOfDifferentSizesTrainWithPmixAndWithout() {
        for (String type : List.of("pmix", "none")) {
            Job job = onFirstNode(List.of("srun", "--mpi=" + type, "-N2", "-n4", "--distribution=plane=3"), DIGITS);

            assertTrainedOnTwoNodes(job);
        }
    }

    /** As the script says of nodes of different sizes: the first one is filled, and the other two tasks are on the second. */
    @Test
    void theScriptStartsSixTasksOfWhichTheFirstNodeHasFourWithPmixAndWithout() throws IOException {
        String script = Files.readString(Path.of(BATCH));
        assertThat(script).contains("\n#SBATCH --ntasks-per-node");
        Path unequal = Files.writeString(
                folder.resolve("unequal.sbatch"),
                script.replace("\n#SBATCH --ntasks-per-node", "\n##SBATCH --ntasks-per-node"));
        List<String> six = List.of("--nodes=2", "--partition=mixed", "--ntasks=6", "--cpus-per-task=1");
        List<String> batch = with(List.of(slurm + "", folder + "", namespaces + "", "batch"), six);
        List<String> alone = with(List.of("salloc", "--quiet"), six);

        assertSixTasks(with(batch, List.of(unequal + "", "srun")), "mpi (Open MPI");
        assertSixTasks(
                with(alone, List.of("env", "SLURM_CONF=" + withoutPmix(), "bash", unequal + "", "srun")),
                "tcp (10.71.0.1");
    }

    private static void assertSixTasks(List<String> words, String backend) {
        Job hosts = onFirstNode(words, Job.program(HostsProgram.class));
        assertThat(hosts.exitCode()).as(hosts.output()).isZero();
        for (int rank = 0; rank < 6; rank++) {
            String place = rank < 4 ? " local " + rank + " of 4" : " local " + (rank - 4) + " of 2";
            assertThat(hosts.lines("rank " + rank + place + " sum 21.0"))
                    .as(hosts.output())
                    .hasSize(1);
        }
        Job trained = onFirstNode(words, DIGITS);
        assertThat(ResultLine.of(trained).ranks()).isEqualTo(6);
        assertThat(trained.lines("6 rank(s) on [node-a, node-c]").toString())
                .as(trained.output())
                .contains(backend);
    }

    @Test
    void theScriptStartsTheTasksWithoutMpiWhereSlurmHasNoPmix() throws IOException {
        String configuration = withoutPmix();
        List<String> line = new ArrayList<>(List.of("salloc", "--quiet", "-N2", "-n4", "--ntasks-per-node=2"));
        line.addAll(List.of("env", "SLURM_CONF=" + configuration, "bash", BATCH, "srun"));

        Job job = onFirstNode(line, DIGITS);

        assertTrainedOnTwoNodes(job);
        assertThat(job.lines("over tcp (10.71.0.1")).as(job.output()).hasSize(1);
    }

    /** @return Slurm's configuration with all of its plugins but those of PMIx */
    private static String withoutPmix() throws IOException {
        Path configuration = folder.resolve("without-pmix.conf");
        if (Files.exists(configuration)) {
            return configuration.toString();
        }
        Path plugins = Files.createDirectory(folder.resolve("plugins"));
        Job shown = onFirstNode(List.of("scontrol", "show", "config"), List.of());
        String installed = shown.lines("PluginDir").get(0).replaceFirst(".*= ", "");
        try (var files = Files.newDirectoryStream(Path.of(installed))) {
            for (Path file : files) {
                if (!file.getFileName().toString().contains("pmix")) {
                    Files.copy(file, plugins.resolve(file.getFileName()));
                }
            }
        }
        Files.writeString(
                configuration, Files.readString(folder.resolve("slurm/slurm.conf")) + "\nPluginDir=" + plugins + "\n");
        return configuration.toString();
    }

    private static long savedAtSigterm(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("JobState=COMPLETED")).as(job.output()).hasSize(1);
        assertThat(job.lines("SIGTERM has come")).as("on every rank").hasSize(4);
        return Long.parseLong(
                job.lines("SIGTERM: ending after step").get(0).replaceAll(".*after step (\\d+), whose.*", "$1"));
    }

    @Test
    void theShellOfABatchScriptIsAJobOfOneRank() throws IOException {
        Path plain = Files.writeString(folder.resolve("plain.sbatch"), "#!/bin/bash\nexec \"$@\"\n");
        Job job = onFirstNode(
                List.of(slurm + "", folder + "", namespaces + "", "batch", "-N2", "--ntasks-per-node=2", plain + ""),
                DIGITS);

        assertThat(ResultLine.of(job).ranks()).isEqualTo(1);
    }

    @Test
    void withoutPmixTheTasksOfOneNodeOrTwoTrainOverTcp() {
        Job here = onFirstNode(List.of("srun", "--mpi=none", "-N1", "-n4"), DIGITS);
        assertThat(ResultLine.of(here).ranks()).isEqualTo(4);
        assertThat(here.lines("over tcp (127.0.0.1")).as(here.output()).hasSize(1);

        Job both = onFirstNode(WITHOUT_PMIX, DIGITS);
        assertTrainedOnTwoNodes(both);
        assertThat(both.lines("over tcp (10.71.0.1")).as(both.output()).hasSize(1);
        assertThat(both.output())
                .as("advice for ranks that wait in MPI")
                .doesNotContain("OMPI_MCA_mpi_yield_when_idle");
    }

    @Test
    void withPmixAndNoMpiJarTheyTrainOverTcpToo() {
        List<String> line = new ArrayList<>(List.of("env", "HVD_OPENMPI_HOME=/nonexistent"));
        line.addAll(TWO_ON_EACH);
        Job job = onFirstNode(line, DIGITS);

        assertTrainedOnTwoNodes(job);
        assertThat(job.lines("as there is no Open MPI with its mpi.jar"))
                .as(job.output())
                .hasSize(1);
    }

    @Test
    void twoStepsAtOnceInOneAllocationDoNotMeetEachOther() {
        String twice = "srun --overlap --mpi=none -N2 -n4 --ntasks-per-node=2 \"$@\" & first=$!;"
                + " srun --overlap --mpi=none -N2 -n2 --ntasks-per-node=1 \"$@\" && wait $first";
        Job job = onFirstNode(
                List.of("salloc", "-N2", "-n4", "--ntasks-per-node=2", "bash", "-c", twice, "bash"),
                Job.program(HostsProgram.class));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(" sum 10.0 ")).as(job.output()).hasSize(4);
        assertThat(job.lines(" sum 3.0 ")).as(job.output()).hasSize(2);
    }

    /** As when the program hangs on one node before it gets to init. */
    @Test
    void aStepOfWhichANodeStartsNoRankEndsWithinItsLimitAndNamesThoseThatAreMissing() {
        String[] start = {"bash", "-c", "[ $SLURM_NODEID = 1 ] && exec sleep 100; exec \"$@\"", "bash"};
        List<String> line = new ArrayList<>(List.of("env", "HOROVOD_START_TIMEOUT=5"));
        line.addAll(WITHOUT_PMIX);
        line.addAll(List.of(start));

        Job job = onFirstNode(line, Job.program(HostsProgram.class));

        assertThat(job.exitCode()).as(job.output()).isPositive();
        assertThat(job.output())
                .contains("ranks [2, 3] of 4 have not come to the rendezvous within 5 s", "0 from node-a")
                .doesNotContain(" sum ");
        assertThat(job.seconds()).isLessThan(30);
    }

    @Test
    void tasksWithoutPmixThatMustUseMpiAreRefusedInsteadOfTrainingEachByItself() {
        Job job = onFirstNode(
                List.of("env", "HVD_BACKEND=mpi", "srun", "--mpi=none", "-N2", "-n2", "--ntasks-per-node=1"), DIGITS);

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .contains("this is task ", " of the 2 of Slurm step ", "srun --mpi=pmix")
                .doesNotContain("RESULT");
    }

    @Test
    void moreRanksThanTheJobHasTasksAreRefused() {
        Job job = batch("horovodrun", "-np", "5");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.output()).contains("(node-a:2,node-b:2) has 4 slots");
    }

    private static void assertTrainedOnTwoNodes(Job job) {
        assertThat(ResultLine.of(job).ranks()).isEqualTo(4);
        assertThat(job.lines("4 rank(s) on [node-a, node-b]")).as(job.output()).hasSize(1);
    }

    /** Runs the script that the documentation names, with digits. */
    private static Job batch(String launcher, String... flags) {
        List<String> program = new ArrayList<>(Arrays.asList(flags));
        program.addAll(DIGITS);
        return batch(List.of("batch"), List.of(), launcher, program);
    }

    private static Job batch(List<String> action, List<String> flags, String launcher, List<String> program) {
        List<String> words = new ArrayList<>(List.of(slurm + "", folder + "", namespaces + ""));
        words.addAll(action);
        words.addAll(flags);
        words.addAll(List.of("-D", ROOT + "", BATCH, launcher));
        return onFirstNode(words, program);
    }

    private static Job onFirstNode(List<String> words, List<String> more) {
        return run(with(with(List.of(namespaces + "", folder + "", "on", NODES.get(0)), words), more));
    }

    private static List<String> with(List<String> words, List<String> more) {
        List<String> all = new ArrayList<>(words);
        all.addAll(more);
        return all;
    }

    /** Settings of Open MPI for root, a node with a bridge of Docker's, and four ranks on few cores. */
    private static Job run(List<String> words) {
        Map<String, String> environment = new HashMap<>(Map.of(
                "OMPI_ALLOW_RUN_AS_ROOT", "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1",
                "OMPI_MCA_mpi_yield_when_idle", "1",
                "OMPI_MCA_btl_tcp_if_include", "eth0",
                "OMPI_MCA_oob_tcp_if_include", "eth0",
                "SLURM_CONF", folder.resolve("slurm/slurm.conf").toString(),
                "HVD_THREADS_PER_RANK", "1"));
        return Job.run(words, environment);
    }

    /** A daemon names a file of ours, a rank the jar in the folder of this test. */
    private static boolean isOurs(ProcessHandle process) {
        return process.info().arguments().stream()
                .flatMap(Arrays::stream)
                .anyMatch(word -> word.equals(JAR) || word.contains(folder + "/slurm/"));
    }

    /** Enough for srun to list what it can load. */
    private static String emptyConfiguration() throws IOException {
        return Files.writeString(folder.resolve("list.conf"), "ClusterName=none\nSlurmctldHost=localhost\n")
                .toString();
    }

    private static Path script(String resource) throws IOException {
        Path script = folder.resolve(resource.replaceFirst(".*/", ""));
        try (InputStream in = SlurmIT.class.getResourceAsStream(resource)) {
            Files.copy(in, script);
        }
        script.toFile().setExecutable(true);
        return script;
    }
}
