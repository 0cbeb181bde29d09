package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.RankPlace.AtLauncher;
import io.hvd.config.RankPlace.AtRankZero;
import io.hvd.config.RankPlace.OnOneHost;
import io.hvd.error.HvdException;
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

    @Test
    void theUserSaysWhereAndTheLauncherWho() {
        RankPlace place =
                place(Map.of("HVD_RENDEZVOUS", "node1:29400", "JOB_COMPLETION_INDEX", "2", "HOROVOD_SIZE", "3"));

        assertThat(place.rank()).isEqualTo(2);
        assertThat(place.size()).isEqualTo(3);
        assertThat(place.meeting())
                .hasValueSatisfying(there -> assertThat(there)
                        .returns("node1", one -> ((AtRankZero) one).host())
                        .returns(29_400, one -> ((AtRankZero) one).port()));
    }

    @Test
    void anAddressOfTheSixthVersionStandsInBrackets() {
        assertThat(meeting(Map.of("HVD_RENDEZVOUS", "[fd00::1]:29400", "RANK", "0", "WORLD_SIZE", "2")))
                .returns("fd00::1", AtRankZero::host)
                .returns(29_400, AtRankZero::port);
    }

    @ParameterizedTest
    @ValueSource(strings = {"node1", "node1:", ":29400", "node1:65536", "fd00::1:29400", "node1:29400x"})
    void anythingElseIsRefused(String value) {
        assertThatThrownBy(() -> place(Map.of("HVD_RENDEZVOUS", value, "RANK", "0", "WORLD_SIZE", "2")))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HVD_RENDEZVOUS is \"" + value + "\", expected host:port");
    }

    @Test
    void torchrunsAgentMayHaveThePortItself() {
        Map<String, String> torchrun =
                Map.of("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "n1", "MASTER_PORT", "29500");
        assertThat(meeting(torchrun)).returns(29_500, AtRankZero::port);

        Map<String, String> withStore = new HashMap<>(torchrun);
        withStore.put("TORCHELASTIC_USE_AGENT_STORE", "True");
        assertThat(meeting(withStore)).returns(29_501, AtRankZero::port);
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
                .returns("gpu07-a", AtRankZero::host)
                .satisfies(there -> assertThat(there.port()).isBetween(20_000, 29_999));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"n1|n1", "n1,n2|n1", "n[1-4]|n1", "n[001,003-9]|n001", "rack[2-3]-n5,x|rack2-n5", "a,b[1-2]|a"})
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

    @Test
    void horovodsRendezvousIsOneUnlessHvdsOwnIsNamed() {
        Map<String, String> named = new HashMap<>(Map.of(
                "HOROVOD_RANK", "1",
                "HOROVOD_SIZE", "2",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR", "n0",
                "HOROVOD_GLOO_RENDEZVOUS_PORT", "4711"));

        assertThat(place(named).meeting())
                .contains(new AtRankZero("n0", 4711, "n0:4711", "", "HOROVOD_GLOO_RENDEZVOUS_ADDR:PORT=n0:4711"));
        named.put("HVD_RENDEZVOUS", "n1:29400");
        assertThat(place(named).meeting())
                .contains(new AtRankZero("n1", 29400, "n1:29400", "", "HVD_RENDEZVOUS=n1:29400"));
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
        assertThat(HvdConfig.from(Map.of("HOROVOD_CPU_OPERATIONS", "mpi"))
                        .control()
                        .gloo())
                .isFalse();
    }
}
