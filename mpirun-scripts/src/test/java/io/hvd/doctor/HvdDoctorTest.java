package io.hvd.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class HvdDoctorTest {

    private static final Map<String, String> SLURM =
            Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", "n[1-2].invalid", "SLURM_TASKS_PER_NODE", "2(x2)");

    /** As horovodrun would start there; but it is not known whether they let anybody in. */
    @Test
    void insideASlurmJobTheOtherNodesAreNamed() throws Exception {
        assertThat(examined(SLURM, "--only", "limits", "-np", "1"))
                .contains("HVD-D74 note")
                .contains("hvd-doctor -H n1.invalid:2,n2.invalid:2");
        assertThat(examined(Map.of(), "--only", "limits", "-np", "1")).doesNotContain("HVD-D74");
    }

    @Test
    void withoutAnMpirunItLooksAtWhatStartsTheRanksInstead() throws Exception {
        String without = examined(Map.of("PATH", "/nowhere"));
        assertThat(without).contains("HVD-D07 warning", "dd", "setsid").doesNotContain("HVD-D01");

        String asked = examined(Map.of("PATH", "/nowhere", "HOROVOD_CONTROLLER", "mpi"));
        assertThat(asked).contains("HVD-D01 error").doesNotContain("HVD-D07");

        assertThat(examined(Map.of("HOROVOD_CPU_OPERATIONS", "gloo"))).doesNotContain("HVD-D0");
    }

    private static String examined(Map<String, String> more, String... flags) throws Exception {
        Map<String, String> environment = new HashMap<>(Map.of("PATH", System.getenv("PATH")));
        environment.putAll(more);
        var out = new ByteArrayOutputStream();
        var to = new PrintStream(out, true, StandardCharsets.UTF_8);
        new HvdDoctor(environment, Path.of("/"), to, to).run(flags);
        return out.toString(StandardCharsets.UTF_8);
    }
}
