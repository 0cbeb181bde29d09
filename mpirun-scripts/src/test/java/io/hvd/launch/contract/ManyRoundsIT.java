package io.hvd.launch.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.ManyRoundsContractTest;
import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Movements in many rounds while nothing goes through shared memory. All ranks are on one host, so allgather takes its rounds
 * one by one; those that overlap are PipelinedMovementTest's. In the everyday tier MpiContractIT has the same pieces go in many
 * more rounds between 2 ranks, through a tiny stage.
 */
@Tag("long")
class ManyRoundsIT {
    private static final int TESTS = 3;

    @Test
    void piecesOfManyRoundsArriveThroughMpiAlone() {
        requireWhole(4, "65536");
    }

    @ParameterizedTest(name = "{0} processes")
    @ValueSource(ints = {2, 4})
    void piecesOfSomeRoundsArriveThroughMpiAlone(int ranks) {
        requireWhole(ranks, "4194304");
    }

    private static void requireWhole(int ranks, String stageBytes) {
        Map<String, String> settings = Map.of("HVD_SHARED_MEMORY", "0", "HVD_STAGE_BYTES", stageBytes);
        Job job = Job.horovodrun(ranks, settings, InsideMpirun.class, ManyRoundsContractTest.class.getName());
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("TESTS backend=mpi ranks=" + ranks + " passed=" + TESTS);
        System.out.printf(
                Locale.ROOT, "many rounds: ranks=%d stage=%s seconds=%.1f%n", ranks, stageBytes, job.seconds());
    }
}
