package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A state beyond 2^31 bytes that is shared out, in an elastic job to which a rank comes and from which one goes. */
@Tag("long")
class LargeHandOverIT {
    @Test
    void aRankThatComesAndOneThatStaysHaveTheMomentsToTheBit() {
        List<String> program = Job.program(LargeHandOverProgram.class);
        program.add(1, "-Xmx12g");
        Job job = Job.run(program, Map.of(), 900);
        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("HANDED OVER").forEach(System.out::println);
        assertThat(job.lines("HANDED OVER")).hasSize(2);
    }
}
