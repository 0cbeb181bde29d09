package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SlurmAllocationTest {
    @Test
    void namesAreExpandedAsScontrolShowHostnamesDoes() {
        assertThat(SlurmAllocation.names("login")).containsExactly("login");
        assertThat(SlurmAllocation.names("n[1-3],m7")).containsExactly("n1", "n2", "n3", "m7");
        assertThat(SlurmAllocation.names("gpu[008-011,20].x"))
                .containsExactly("gpu008.x", "gpu009.x", "gpu010.x", "gpu011.x", "gpu20.x");
        assertThat(SlurmAllocation.names("r[1-2]n[1,3]")).containsExactly("r1n1", "r1n3", "r2n1", "r2n3");
    }

    @Test
    void tasksAreCountedPerNode() {
        assertThat(SlurmAllocation.counts("4")).containsExactly(4);
        assertThat(SlurmAllocation.counts("2(x3),1")).containsExactly(2, 2, 2, 1);
        assertThat(SlurmAllocation.of(job("n[1-3]", "2(x2),1")).orElseThrow().name())
                .isEqualTo("Slurm job 7 (n1:2,n2:2,n3:1)");
    }

    @Test
    void outsideAJobThereIsNoneAndWithoutTasksNoHosts() {
        assertThat(SlurmAllocation.of(Map.of("SLURM_TASKS_PER_NODE", "2"))).isEmpty();
        assertThat(SlurmAllocation.of(Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", "n1")))
                .contains(new SlurmAllocation("7", List.of()));
    }

    @Test
    void variablesThatDoNotFitTogetherAreNamed() {
        assertThatThrownBy(() -> SlurmAllocation.of(job("n[1-3]", "2(x2)")))
                .hasMessageContainingAll(
                        "slurm-variables", "n[1-3] has 3 nodes", "SLURM_TASKS_PER_NODE=2(x2) is for 2");
        assertThatThrownBy(() -> SlurmAllocation.of(job("n1", "many")))
                .hasMessageContaining("\"many\" is not of the form");
        assertThatThrownBy(() -> SlurmAllocation.of(job("n1;x", "1"))).hasMessageContaining("\"n1;x\"");
        for (String endless : List.of("n[1-999999999999]", "n[1-99999999999999999999]", "n[0-999999][0-999999]")) {
            assertThatThrownBy(() -> SlurmAllocation.of(job(endless, "1")))
                    .hasMessageContainingAll("slurm-variables", endless);
        }
        assertThatThrownBy(() -> SlurmAllocation.of(job("n1", "999999(x999999)")))
                .hasMessageContainingAll("slurm-variables", "999999(x999999)");
    }

    private static Map<String, String> job(String nodes, String tasks) {
        return Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", nodes, "SLURM_TASKS_PER_NODE", tasks);
    }
}
