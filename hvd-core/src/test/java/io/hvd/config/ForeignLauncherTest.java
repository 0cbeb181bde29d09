package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ForeignLauncherTest {
    private static final Map<String, String> RANK_ONE = Map.of("RANK", "1", "WORLD_SIZE", "4", "LOCAL_RANK", "1");

    @Test
    void aProcessThatDoesNotKnowWhereToMeetIsToldHowToStartTheJob() {
        assertThat(HvdConfig.from(RANK_ONE).started().whyNotAlone(false).orElseThrow())
                .startsWith("RANK=1 of WORLD_SIZE=4 says that this process is one of 4")
                .contains(
                        "HVD_RENDEZVOUS=host:port",
                        "mpirun -np 4 COMMAND",
                        "horovodrun -np 4",
                        "unset WORLD_SIZE",
                        "HVD_BACKEND=local");
    }

    @Test
    void torchrunSaysWhereToMeetWithoutMpi() {
        Map<String, String> torchrun = new HashMap<>(RANK_ONE);
        torchrun.putAll(Map.of("MASTER_ADDR", "n1", "MASTER_PORT", "29500"));

        LauncherFacts started = HvdConfig.from(torchrun).started();

        assertThat(started.whyNotAlone(false)).isEmpty();
        assertThat(started.whyNotAlone(true).orElseThrow()).startsWith("RANK=1 of WORLD_SIZE=4");
    }

    @Test
    void soIsOneOfHorovodsOwnLauncher() {
        assertThat(HvdConfig.from(Map.of("HOROVOD_RANK", "0", "HOROVOD_SIZE", "2"))
                        .started()
                        .whyNotAlone(false)
                        .orElseThrow())
                .startsWith("HOROVOD_RANK=0 of HOROVOD_SIZE=2");
    }

    @Test
    void theCountAloneSaysEnough() {
        assertThat(HvdConfig.from(Map.of("WORLD_SIZE", "2"))
                        .started()
                        .whyNotAlone(false)
                        .orElseThrow())
                .startsWith("WORLD_SIZE=2 says");
    }

    @Test
    void underALauncherOfMpiTheVariablesMeanNothing() {
        Map<String, String> both = new HashMap<>(RANK_ONE);
        both.put("OMPI_COMM_WORLD_RANK", "3");

        assertThat(HvdConfig.from(both).started().whyNotAlone(false)).isEmpty();
    }

    /** Each would train by itself as rank 0 of 1. */
    @Test
    void aProcessThatIsToMeetOthersAndDoesNotKnowItsRankIsRefused() {
        Map<String, String> pod = Map.of("HVD_RENDEZVOUS", "job-0.job:29400", "JOB_COMPLETION_INDEX", "1");
        assertThat(HvdConfig.from(pod).started().whyNotAlone(false).orElseThrow())
                .startsWith("HVD_RENDEZVOUS=job-0.job:29400 says where this process meets others")
                .contains("HOROVOD_RANK and HOROVOD_SIZE", "HVD_BACKEND=local");
        assertThat(HvdConfig.from(Map.of("HVD_RENDEZVOUS", "launcher=00ff@10.0.0.1/4711"))
                        .started()
                        .whyNotAlone(false)
                        .orElseThrow())
                .doesNotContain("00ff");
        assertThat(HvdConfig.from(Map.of("HVD_RENDEZVOUS", "a:29400", "RANK", "0", "WORLD_SIZE", "1"))
                        .started()
                        .whyNotAlone(false))
                .isEmpty();
    }

    @Test
    void oneProcessMayBeAJobOfOneRank() {
        assertThat(HvdConfig.from(Map.of("RANK", "0", "WORLD_SIZE", "1"))
                        .started()
                        .whyNotAlone(false))
                .isEmpty();
        assertThat(HvdConfig.from(Map.of("WORLD_SIZE", "of the map")).started().whyNotAlone(false))
                .isEmpty();
        assertThat(HvdConfig.from(Map.of()).started().whyNotAlone(false)).isEmpty();
    }
}
