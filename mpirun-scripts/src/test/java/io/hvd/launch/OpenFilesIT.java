package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A limit of open files at which Open MPI would end the ranks, or mpirun hang, with words about pipes. */
class OpenFilesIT {
    private static final String LIMITED = "ulimit -n 56; exec \"$@\"";

    @Test
    void aRankSaysHowManyItNeedsBeforeMpiStarts() {
        List<String> program = new ArrayList<>(List.of("sh", "-c", LIMITED, "limited"));
        program.addAll(Job.program(OutputLinesProgram.class));

        Job job = Job.horovodrun(2, Map.of(), program);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output())
                .contains("HVD-102", "may have 56 open files", "need", "at least", "ulimit -n 65536")
                .doesNotContain("ORTE_ERROR_LOG", "Too many open files");
    }
}
