package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.RankPlace.AtCoordinator;
import io.hvd.config.RankPlace.AtLauncher;
import io.hvd.config.RankPlace.AtRankZero;
import io.hvd.config.RankPlace.OnOneHost;
import io.hvd.error.HvdException;
import io.hvd.net.HandshakeListener;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RankPlaceTest {
    private static RankPlace place(Map<String, String> environment) {
        return HvdConfig.from(environment).started().place().orElseThrow();
    }

    private static AtRankZero meeting(Map<String, String> environment) {
        return (AtRankZero) place(environment).meeting().orElseThrow();
    }

    /** An error that prints the place would print what the job's secret is made of. */
    @Test
    void aPlaceInWordsSaysNothingThatRecognisesTheRanks() {
        assertThat(new AtRankZero(List.of("node1"), List.of(29_400), "key-of-job", "name-of-job", "SLURM_JOB_ID"))
                .hasToString("at rank 0, by SLURM_JOB_ID");
        assertThat(new OnOneHost("key-of-job")).hasToString("by a file of this host");
    }

    @Test
    void aTaskOfAClusterTakesNothingFromWhatHasStartedItsProcess() {
        assertThat(LauncherFacts.withoutLaunchers(Map.of(
                        "HOROVOD_RANK", "1",
                        "HVD_RENDEZVOUS", "node1:29400",
                        "OMPI_COMM_WORLD_RANK", "1",
                        "SLURM_JOB_ID", "7",
                        "WORLD_SIZE", "2",
                        "HOROVOD_FUSION_THRESHOLD", "0",
                        "HVD_SECRET", "word")))
                .containsOnlyKeys("HOROVOD_FUSION_THRESHOLD", "HVD_SECRET");
    }

    @Test
    void theUserSaysWhereAndTheLauncherWho() {
        RankPlace place =
                place(Map.of("HVD_RENDEZVOUS", "node1:29400", "JOB_COMPLETION_INDEX", "2", "HOROVOD_SIZE", "3"));

        assertThat(place.rank()).isEqualTo(2);
        assertThat(place.size()).isEqualTo(3);
        assertThat(place.meeting())
                .hasValueSatisfying(there -> assertThat(there)
                        .returns(List.of("node1"), one -> ((AtRankZero) one).hosts())
                        .returns(List.of(29_400), one -> ((AtRankZero) one).ports()));
    }

    @Test
    void anAddressOfTheSixthVersionStandsInBrackets() {
        assertThat(meeting(Map.of("HVD_RENDEZVOUS", "[fd00::1]:29400", "RANK", "0", "WORLD_SIZE", "2")))
                .returns(List.of("fd00::1"), AtRankZero::hosts)
                .returns(List.of(29_400), AtRankZero::ports);
    }

    @ParameterizedTest
    @ValueSource(strings = {"node1", "node1:", ":29400", "node1:65536", "node1:0", "fd00::1:29400", "node1:29400x"})
    void anythingElseIsRefused(String value) {
        assertThatThrownBy(() -> place(Map.of("HVD_RENDEZVOUS", value, "RANK", "0", "WORLD_SIZE", "2")))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HVD_RENDEZVOUS is \"" + value + "\", expected host:port");
    }

    @Test
    void torchrunsAgentMayHaveThePortItself() {
        Map<String, String> torchrun =
                Map.of("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "n1", "MASTER_PORT", "29500");
        assertThat(meeting(torchrun)).returns(List.of(29_500), AtRankZero::ports);

        Map<String, String> withStore = new HashMap<>(torchrun);
        withStore.put("TORCHELASTIC_USE_AGENT_STORE", "True");
        assertThat(meeting(withStore)).returns(List.of(29_501, 29_502, 29_503, 29_504), AtRankZero::ports);

        Map<String, String> restarted = new HashMap<>(withStore);
        restarted.put("TORCHELASTIC_RESTART_COUNT", "1");
        assertThat(meeting(restarted).secret(Optional.empty()).bytes(16))
                .as("a late rank of the first attempt is a stranger in the second one")
                .isNotEqualTo(meeting(withStore).secret(Optional.empty()).bytes(16));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "65536", "99999", "x", ""})
    void aPortOfTorchrunsThatIsNoneIsNoPlaceToMeet(String port) {
        assertThat(place(Map.of("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "n1", "MASTER_PORT", port))
                        .meeting())
                .isEmpty();
    }

    /** A user may export one address, and one secret, for all that he starts. */
    @Test
    void twoJobsOfALauncherWithOneAddressAndOneSecretAreToldApart() {
        for (String job : new String[] {"OMPI_COMM_WORLD PMIX_NAMESPACE", "RANK TORCHELASTIC_RUN_ID"}) {
            String[] names = job.split(" ");
            Map<String, String> first = new HashMap<>(Map.of("HVD_RENDEZVOUS", "n1:29400", names[1], "1"));
            first.putAll(
                    names[0].equals("RANK")
                            ? Map.of("RANK", "1", "WORLD_SIZE", "2")
                            : Map.of(names[0] + "_RANK", "1", names[0] + "_SIZE", "2"));
            Map<String, String> second = new HashMap<>(first);
            second.put(names[1], "2");

            for (Optional<Secret> given : List.of(Optional.<Secret>empty(), Optional.of(Secret.of("mine")))) {
                assertThat(meeting(first).secret(given).bytes(16))
                        .isEqualTo(meeting(first).secret(given).bytes(16))
                        .isNotEqualTo(meeting(second).secret(given).bytes(16));
            }
        }
    }

    @Test
    void theTasksOfAStepMeetAtItsFirstNode() {
        Map<String, String> task = Map.of(
                "SLURM_JOB_ID", "17",
                "SLURM_STEP_ID", "0",
                "SLURM_PROCID", "3",
                "SLURM_STEP_NUM_TASKS", "4",
                "SLURM_STEP_NODELIST", "gpu[07-08,11]-a,login");
        assertThat(place(task)).returns(3, RankPlace::rank).returns(4, RankPlace::size);
        assertThat(meeting(task))
                .returns(List.of("gpu07-a"), AtRankZero::hosts)
                .satisfies(there ->
                        assertThat(there.ports()).hasSize(4).allMatch(port -> port >= 20_000 && port < 30_000));

        Map<String, String> nextStep = new HashMap<>(task);
        nextStep.put("SLURM_STEP_ID", "1");
        assertThat(meeting(nextStep).ports())
                .doesNotContainAnyElementsOf(meeting(task).ports());

        nextStep.put("HVD_PORT_RANGE", "4001-4003");
        assertThat(meeting(nextStep).ports()).containsExactlyInAnyOrder(4001, 4002, 4003);
        assertThat(meeting(nextStep).source())
                .as("who waits in vain shows it beside that of the other ranks")
                .endsWith(" of HVD_PORT_RANGE=4001-4003");
        assertThat(meeting(task).source()).endsWith(" of 20000-29999, as HVD_PORT_RANGE is not set");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "n1|n1",
                "n1,n2|n1",
                "n[1-4]|n1",
                "n[001,003-9]|n001",
                "rack[2-3]-n5,x|rack2-n5",
                "rack[1-2]n[3-4],b|rack1n3",
                "a,b[1-2]|a"
            })
    void theFirstNodeOfAList(String nodes, String first) {
        assertThat(RankPlace.firstHost(nodes)).contains(first);
    }

    @Test
    void processesOfOneHostMeetByAFile() {
        Map<String, String> mpirun = Map.of(
                "OMPI_COMM_WORLD_RANK", "1",
                "OMPI_COMM_WORLD_SIZE", "2",
                "OMPI_COMM_WORLD_LOCAL_SIZE", "2",
                "PMIX_NAMESPACE", "719060993");
        assertThat(place(mpirun).meeting().orElseThrow()).isInstanceOf(OnOneHost.class);

        Map<String, String> twoHosts = new HashMap<>(mpirun);
        twoHosts.put("OMPI_COMM_WORLD_LOCAL_SIZE", "1");
        assertThat(place(twoHosts).meeting()).isEmpty();
        assertThat(place(twoHosts).noMeeting()).contains("one of 2 ranks", "HVD_RENDEZVOUS=host:port");
    }

    /** The variables are those that each version's mpirun sets. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1045889025|1045889024.0;tcp://10.0.0.1,172.17.0.1:59667;tcp6://[fd00::2]:34885|10.0.0.1,172.17.0.1,fd00::2",
                "prterun-node-1-306@1||node-1"
            })
    void processesOfSeveralHostsMeetAtThatOfMpirunIfRankZeroIsThere(String job, String uri, String hosts) {
        Map<String, String> zero = new HashMap<>(Map.of(
                "OMPI_COMM_WORLD_RANK", "0",
                "OMPI_COMM_WORLD_SIZE", "2",
                "OMPI_COMM_WORLD_LOCAL_SIZE", "1",
                "PMIX_NAMESPACE", job,
                "PMIX_HOSTNAME", "node-1"));
        if (uri != null) {
            zero.put("OMPI_MCA_orte_hnp_uri", uri);
            zero.put("OMPI_MCA_orte_local_daemon_uri", uri);
        }
        Map<String, String> one = new HashMap<>(zero);
        one.put("OMPI_COMM_WORLD_RANK", "1");
        one.put("PMIX_HOSTNAME", "node-2");
        one.computeIfPresent("OMPI_MCA_orte_local_daemon_uri", (name, value) -> "1045889024.1;tcp://10.0.0.2:40000");

        assertThat(meeting(zero)).isEqualTo(meeting(one)).returns(List.of(hosts.split(",")), AtRankZero::hosts);

        Map<String, String> elsewhere = new HashMap<>(one);
        elsewhere.put("OMPI_COMM_WORLD_RANK", "0");
        assertThat(place(elsewhere).meeting()).isEmpty();
        assertThat(place(elsewhere).noMeeting()).containsPattern("mpirun -x HVD_RENDEZVOUS=\\S+:29400");
    }

    @Test
    void horovodsRendezvousIsOneUnlessHvdsOwnIsNamed() {
        Map<String, String> named = new HashMap<>(Map.of(
                "HOROVOD_RANK", "1",
                "HOROVOD_SIZE", "2",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR", "n0",
                "HOROVOD_GLOO_RENDEZVOUS_PORT", "4711"));

        assertThat(place(named).meeting())
                .contains(new AtRankZero(
                        List.of("n0"), List.of(4711), "n0:4711", "", "HOROVOD_GLOO_RENDEZVOUS_ADDR:PORT=n0:4711"));
        named.put("HVD_RENDEZVOUS", "n1:29400");
        assertThat(place(named).meeting())
                .contains(new AtRankZero(List.of("n1"), List.of(29400), "n1:29400", "", "HVD_RENDEZVOUS=n1:29400"));
    }

    @Test
    void theLaunchersAddressIsSeenNowhere() {
        RankPlace place = place(
                Map.of("HVD_RENDEZVOUS", "launcher=00ff@10.0.0.1/4711", "HOROVOD_RANK", "0", "HOROVOD_SIZE", "2"));

        assertThat(place.meeting().orElseThrow())
                .isInstanceOf(AtLauncher.class)
                .asString()
                .doesNotContain("00ff");
    }

    @Test
    void aWorkerOfAnElasticJobNeedsNoNumberIfTheUserSaysWhereTheCoordinatorIs() {
        HvdConfig config = HvdConfig.from(Map.of("HVD_RENDEZVOUS", "elastic=node1:29400", "HVD_SECRET", "of the job"));
        AtCoordinator there = config.started().coordinator().orElseThrow();

        assertThat(there.worker()).isEmpty();
        assertThat(there.with(config.control().secret()).sockets())
                .containsExactly(InetSocketAddress.createUnresolved("node1", 29_400));
        assertThat(there.with(config.control().secret()).secret())
                .isEqualTo(Secret.of("of the job").bytes(HandshakeListener.SECRET_BYTES));
        assertThat(config.started().whyNotAlone(false).orElseThrow()).contains("Elastic.run(state, body)");
        assertThatThrownBy(() -> there.with(Optional.empty()))
                .hasMessageContaining("HVD_RENDEZVOUS=elastic=node1:29400 needs HVD_SECRET");
    }

    /** As in an Indexed Job, where pods have numbers of their own. */
    @Test
    void otherNumbersDoNotCountThere() {
        LauncherFacts pod = HvdConfig.from(Map.of(
                        "HVD_RENDEZVOUS", "elastic=node1:29400", "JOB_COMPLETION_INDEX", "2", "HOROVOD_SIZE", "3"))
                .started();
        LauncherFacts launched = HvdConfig.from(Map.of(
                        "HVD_RENDEZVOUS", "elastic=00ff@10.0.0.1/4711", "HOROVOD_RANK", "2", "HOROVOD_SIZE", "3"))
                .started();

        assertThat(pod.coordinator().orElseThrow().worker()).isEmpty();
        assertThat(launched.coordinator().orElseThrow().worker()).hasValue(2);
        assertThat(launched.coordinator().orElseThrow().with(Optional.empty()).sockets())
                .containsExactly(new InetSocketAddress("10.0.0.1", 4_711));
    }

    @Test
    void aCoordinatorWithoutAPortIsRefused() {
        assertThatThrownBy(() -> HvdConfig.from(Map.of("HVD_RENDEZVOUS", "elastic=node1")))
                .hasMessageContaining("HVD_RENDEZVOUS is \"elastic=node1\", expected host:port");
    }

    @Test
    void aRankAloneIsOfNoLauncher() {
        LauncherFacts alone = HvdConfig.from(
                        Map.of("RANK", "0", "WORLD_SIZE", "1", "MASTER_ADDR", "localhost", "MASTER_PORT", "29500"))
                .started();
        assertThat(alone.byLauncher()).isFalse();
        assertThat(alone.whyNotAlone(false)).isEmpty();
    }

    @Test
    void gloosControllerIsAskedForByEitherVariableAndLeavesTheBackEndOpen() {
        for (Map<String, String> gloo :
                List.of(Map.of("HOROVOD_CONTROLLER", "gloo"), Map.of("HOROVOD_CPU_OPERATIONS", "GLOO"))) {
            assertThat(HvdConfig.from(gloo).control().gloo()).isTrue();
            assertThat(HvdConfig.from(gloo).backend())
                    .as("NCCL may serve tensors on GPUs")
                    .isEqualTo(HvdConfig.BackendChoice.AUTO);
        }
    }

    @Test
    void horovodsVariableOfDataCountsMoreThanThatOfTheController() {
        ControlSettings data = HvdConfig.from(Map.of("HOROVOD_CONTROLLER", "gloo", "HOROVOD_CPU_OPERATIONS", "MPI"))
                .control();
        assertThat(data.gloo()).isFalse();
        assertThat(data.mpi()).contains("HOROVOD_CPU_OPERATIONS=mpi");

        ControlSettings controller =
                HvdConfig.from(Map.of("HOROVOD_CONTROLLER", "mpi")).control();
        assertThat(controller.gloo()).isFalse();
        assertThat(controller.mpi()).contains("HOROVOD_CONTROLLER=mpi");

        ControlSettings mixed = HvdConfig.from(Map.of("HOROVOD_CONTROLLER", "mpi", "HOROVOD_CPU_OPERATIONS", "gloo"))
                .control();
        assertThat(mixed.gloo()).isTrue();
        assertThat(mixed.mpi()).isEmpty();
        assertThat(HvdConfig.from(Map.of()).control().mpi()).isEmpty();
    }
}
