package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace.AtRankZero;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.rendezvous.Rendezvous;
import io.hvd.testing.FreePorts;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Misfortunes of processes that meet at rank 0: each waits with a sentence, or ends with one. RendezvousServerTest has those of
 * the long tier every day, with threads.
 */
@Timeout(400)
final class StartWithoutMpiIT {
    private static final String TOGETHER = " sum ";
    /** Within so many seconds the ranks must meet, where a test does not wait for that time to pass. */
    private static final String FAR = "100";

    @TempDir
    private Path folder;

    private final List<StartedRank> started = new ArrayList<>();
    /** At which the ranks meet, or the next but one where others listen at it and the next. */
    private final int port = FreePorts.inARow(3);

    @AfterEach
    void endWhatAFailedTestLeft() {
        started.forEach(rank -> rank.process().destroyForcibly());
    }

    private static ServerSocket taken(int port) throws IOException {
        return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
    }

    /** @param more variables, each after its name */
    private Map<String, String> variables(int rank, int size, String... more) {
        Map<String, String> all = new HashMap<>(Map.of(
                "HVD_RENDEZVOUS",
                "127.0.0.1:" + port,
                "HVD_SECRET",
                "of these ranks",
                "HOROVOD_START_TIMEOUT",
                FAR,
                "HOROVOD_RANK",
                "" + rank,
                "HOROVOD_SIZE",
                "" + size,
                "HVD_THREADS_PER_RANK",
                "1"));
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    private StartedRank start(Map<String, String> environment) throws IOException {
        StartedRank rank = StartedRank.of(folder, environment);
        started.add(rank);
        return rank;
    }

    private StartedRank start(int rank, int size, String... more) throws IOException {
        return start(variables(rank, size, more));
    }

    /** A rank that runs and calls the port by now: a short limit of rank 0's begins after its start. */
    private StartedRank calling(int rank, int size, String... more) throws IOException {
        try (ServerSocket before = taken(port)) {
            StartedRank one = start(rank, size, more);
            before.setSoTimeout(100_000);
            before.accept().close();
            return one;
        }
    }

    @Test
    void aRankZeroThatComesLateIsWaitedForWithASentence() throws Exception {
        StartedRank one = start(1, 2);
        one.says(
                "does not reach HVD_RENDEZVOUS=127.0.0.1:" + port + ": Connection refused; it tries for " + FAR + " s");

        start(0, 2).endsWith(0);
        assertThat(one.endsWith(0)).contains("rank 1 local 1 of 2 sum 3.0");
    }

    /** The name has an address when its pod has started. */
    @Test
    void aNameThatIsKnownLateIsWaitedForWithASentence() throws Exception {
        Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 localhost\n");
        String[] late = {
            "HVD_RENDEZVOUS", "train-0.train:" + port,
            "JAVA_TOOL_OPTIONS", "-Djdk.net.hosts.file=" + hosts + " -Dsun.net.inetaddr.negative.ttl=0"
        };
        StartedRank one = start(1, 2, late);
        one.says("does not reach HVD_RENDEZVOUS=train-0.train:" + port + ": its name has no address yet");

        Files.writeString(hosts, "127.0.0.1 localhost train-0.train\n");
        start(0, 2, late).endsWith(0);
        assertThat(one.endsWith(0)).contains("sum 3.0");
    }

    @Test
    void aPortThatAnotherProgramHasIsWaitedForWithASentence() throws Exception {
        StartedRank zero;
        StartedRank one;
        try (ServerSocket other = taken(port)) {
            zero = start(0, 2);
            one = start(1, 2);
            other.accept().close();
            zero.says("rank 0 cannot listen at a port of [" + port);
        }
        assertThat(zero.endsWith(0)).contains("sum 3.0");
        one.endsWith(0);
    }

    @Test
    void aPortThatStaysTakenEndsTheJobWithAdvice() throws Exception {
        try (ServerSocket other = taken(port)) {
            StartedRank zero = start(0, 2, "HOROVOD_START_TIMEOUT", "2");
            StartedRank one = start(1, 2, "HOROVOD_START_TIMEOUT", "2");

            assertThat(zero.endsWith(1)).contains("another job or program has it, so choose another port");
            assertThat(one.endsWith(1))
                    .contains("does not reach HVD_RENDEZVOUS=", "taken the connection and does not answer");
            assertThat(other.isBound()).isTrue();
        }
    }

    /** The second job has the port when the first one has met. */
    @Test
    void twoJobsWithOnePortTrainEachByItself() throws Exception {
        List<StartedRank> ranks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            ranks.add(start(rank, 3, "HVD_SECRET", "of the three"));
            if (rank < 2) {
                ranks.add(start(rank, 2, "HVD_SECRET", "of the two"));
            }
        }
        assertThat(outputs(ranks)).filteredOn(text -> text.contains("sum 6.0")).hasSize(3);
        assertThat(outputs(ranks)).filteredOn(text -> text.contains("sum 3.0")).hasSize(2);
    }

    private static List<String> outputs(List<StartedRank> ranks) throws IOException, InterruptedException {
        List<String> outputs = new ArrayList<>();
        for (StartedRank rank : ranks) {
            outputs.add(rank.endsWith(0));
        }
        return outputs;
    }

    @Test
    @Tag("long")
    void aRankThatWasToldAnotherSizeIsRefusedAtOnceAndNamedToTheOthers() throws Exception {
        StartedRank one = calling(1, 3);
        StartedRank zero = start(0, 2, "HOROVOD_START_TIMEOUT", "8");

        assertThat(one.endsWith(1)).contains("says that there are 3 ranks, but the job that meets here has 2");
        assertThat(zero.endsWith(1)).contains("ranks [1] of 2 have not come", "says that there are 3 ranks");
    }

    @Test
    @Tag("long")
    void ofFourRanksTheOneThatDoesNotComeIsNamed() throws Exception {
        List<StartedRank> three = new ArrayList<>(List.of(start(1, 4), start(3, 4)));
        for (StartedRank one : three) {
            one.says("does not reach ");
        }
        three.add(start(0, 4, "HOROVOD_START_TIMEOUT", "5"));
        for (StartedRank rank : three) {
            assertThat(rank.endsWith(1))
                    .contains("ranks [2] of 4 have not come to the rendezvous within 5 s")
                    .doesNotContain(TOGETHER);
        }
    }

    /** Nobody knows which of the two is of this job, so none of them trains. */
    @Test
    @Tag("long")
    void aRankThatComesTwiceEndsAllWhoHaveCome() throws Exception {
        for (StartedRank rank : List.of(start(0, 3), start(1, 3), start(1, 3))) {
            assertThat(rank.endsWith(1)).contains("rank 1 has come from ", "two processes have the same rank");
        }
    }

    @Test
    void aRankThatComesLateIsWaitedForWithASentence() throws Exception {
        StartedRank two = calling(2, 3);
        StartedRank zero = start(0, 3);
        zero.says("ranks [1] of 3 have not come to the rendezvous yet; the others wait for " + FAR + " s");

        start(1, 3).endsWith(0);
        assertThat(zero.endsWith(0)).contains("sum 6.0");
        two.endsWith(0);
    }

    @Test
    void othersSayThatRankZeroHasGoneWhenTheirLimitIsOver() throws Exception {
        StartedRank one = calling(1, 3, "HOROVOD_START_TIMEOUT", "20");
        StartedRank zero = start(0, 3);
        zero.says("ranks [2] of 3 have not come");
        zero.process().destroyForcibly();

        assertThat(one.endsWith(1))
                .contains("rank 1 (", "does not reach HVD_RENDEZVOUS=127.0.0.1:" + port, "tried for 20 s")
                .contains("it had welcomed this rank, and then ended; now Connection refused");
    }

    @Test
    void aRankThatEndsBetweenTheRendezvousAndTheControlPlaneIsNamed() throws Exception {
        List<StartedRank> others = List.of(start(0, 3), start(2, 3));
        arrived(variables(1, 3)).close();

        for (StartedRank other : others) {
            assertThat(other.endsWith(1)).contains("rank 1 (testing) has left the rendezvous");
        }
    }

    @Test
    @Tag("long")
    void aRankThatIsStoppedBetweenTheRendezvousAndTheControlPlaneIsNamedWithinTheLimit() throws Exception {
        StartedRank two = calling(2, 3);
        List<StartedRank> others = List.of(two, start(0, 3, "HOROVOD_START_TIMEOUT", "6"));
        try (Rendezvous silent = arrived(variables(1, 3))) {
            assertThat(silent).isNotNull();
            for (StartedRank other : others) {
                assertThat(other.endsWith(1)).contains("rank 1 (testing) has come", "said nothing for 6 s");
            }
        }
    }

    /** Comes as a rank does, and says nothing more. */
    private Rendezvous arrived(Map<String, String> environment) {
        HvdConfig config = HvdConfig.from(environment);
        var there =
                (AtRankZero) config.started().place().orElseThrow().meeting().orElseThrow();
        Rendezvous.Place place = new Rendezvous.Place() {
            @Override
            public List<InetSocketAddress> addresses() {
                return List.of(new InetSocketAddress(
                        there.hosts().get(0), there.ports().get(0)));
            }

            @Override
            public byte[] secret() {
                return there.secret(config.control().secret()).bytes(HandshakeListener.SECRET_BYTES);
            }

            @Override
            public Encryption encryption() {
                return Encryption.NONE;
            }

            @Override
            public OptionalInt server() {
                return OptionalInt.of(0);
            }

            @Override
            public String source() {
                return there.source();
            }
        };
        return Rendezvous.join(place, new Rendezvous.Rank(1, 3, "testing"), List.of(0, 1, 2), Duration.ofSeconds(100));
    }

    @Test
    void aProcessThatIsToMeetOthersAndHasNoRankDoesNotTrainAlone() throws Exception {
        Map<String, String> pod =
                new HashMap<>(Map.of("HVD_RENDEZVOUS", "127.0.0.1:" + port, "JOB_COMPLETION_INDEX", "0"));

        assertThat(start(pod).endsWith(1)).contains("HOROVOD_SIZE suffices").doesNotContain(TOGETHER);
        pod.put("HVD_BACKEND", "local");
        assertThat(start(pod).endsWith(0)).contains("sum 1.0");
    }

    /** As torchrun 2 starts the ranks of a node, whose agent has the port itself, beside another torchrun at the next one. */
    @Test
    void torchrunsVariablesSufficeWhileItsAgentListensAtTheirPort() throws Exception {
        try (ServerSocket agent = taken(port);
                ServerSocket next = taken(port + 1)) {
            assertThat(List.of(agent, next)).allMatch(ServerSocket::isBound);
            List<StartedRank> ranks = new ArrayList<>();
            for (int rank = 0; rank < 3; rank++) {
                ranks.add(start(torchrun(rank, 3)));
            }
            assertThat(outputs(ranks)).allMatch(text -> text.contains("sum 6.0"));
        }
    }

    private Map<String, String> torchrun(int rank, int size) {
        Map<String, String> all = new HashMap<>(Map.of("HOROVOD_START_TIMEOUT", FAR));
        for (String name : List.of("", "LOCAL_", "ROLE_")) {
            all.put(name + "RANK", "" + rank);
            all.put(name + "WORLD_SIZE", "" + size);
        }
        all.putAll(Map.of(
                "GROUP_RANK", "0",
                "GROUP_WORLD_SIZE", "1",
                "ROLE_NAME", "default",
                "MASTER_ADDR", "localhost",
                "MASTER_PORT", "" + port,
                "TORCHELASTIC_RESTART_COUNT", "0",
                "TORCHELASTIC_MAX_RESTARTS", "0",
                "TORCHELASTIC_RUN_ID", "none",
                "TORCHELASTIC_USE_AGENT_STORE", "True",
                "OMP_NUM_THREADS", "1"));
        return all;
    }

    @Test
    void ranksThatAreToUseMpiDoNotTrainWithoutIt() {
        List<String> line = new ArrayList<>(List.of("mpirun", "--oversubscribe", "-np", "2", "env", "ODD_VALUE=1"));
        line.addAll(Job.program(HostsProgram.class));
        Job job = Job.run(
                line,
                Map.of(
                        "HOROVOD_CONTROLLER", "mpi",
                        "HVD_OPENMPI_HOME", "/nonexistent",
                        "OMPI_ALLOW_RUN_AS_ROOT", "1",
                        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("leave out HOROVOD_CONTROLLER=mpi").doesNotContain(TOGETHER);
    }

    @Test
    void ranksThatChooseDifferentBackEndsAreToldHowToAgree() {
        for (int without = 0; without < 2; without++) {
            List<String> line = new ArrayList<>(List.of("mpirun", "--oversubscribe"));
            for (int rank = 0; rank < 2; rank++) {
                line.addAll(List.of(rank == 0 ? "-np" : ":", rank == 0 ? "1" : "-np"));
                line.addAll(rank == 0 ? List.of() : List.of("1"));
                line.addAll(List.of("env", "ODD_VALUE=" + rank));
                line.addAll(rank == without ? List.of("HVD_OPENMPI_HOME=/nonexistent") : List.of());
                line.addAll(Job.program(HostsProgram.class));
            }
            Job job = Job.run(
                    line,
                    Map.of(
                            "HOROVOD_START_TIMEOUT", "5",
                            "OMPI_ALLOW_RUN_AS_ROOT", "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"));

            assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
            assertThat(job.output())
                    .contains("This rank uses tcp, as there is no Open MPI with its mpi.jar", "HVD_BACKEND=tcp")
                    .doesNotContain(TOGETHER);
        }
    }
}
