package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.junit.FaultPlan;
import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes with DJL, of which one is killed; the others end the training. */
@Tag("long")
@Timeout(300)
class ElasticDjlIT {
    private static final Pattern ENDED =
            Pattern.compile("ENDED steps (\\d+) generation (\\d+) loss ([\\d.E-]+) bits (-?\\d+)");
    private static final int KILL_STEP = 50;

    @Test
    void aTrainingOfDjlsGoesOnWithTheStateThatTheSurvivorsHave() {
        List<String> program = Job.program(ElasticDjlProgram.class);
        program.addAll(0, List.of("--min-np", "2"));

        Job job = Job.horovodrun(
                3,
                Map.of(FaultPlan.VARIABLE, FaultPlan.kill(1).atStep(KILL_STEP).toString()),
                program);

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<Matcher> ends = job.lines("ENDED").stream()
                .map(ENDED::matcher)
                .filter(Matcher::find)
                .toList();
        assertThat(ends).as(job.output()).hasSize(2);
        assertThat(ends.stream().map(end -> end.group(4)).collect(Collectors.toSet()))
                .hasSize(1);
        assertThat(ends.get(0).group(2)).isEqualTo("1");
        assertThat(Integer.parseInt(ends.get(0).group(1))).isIn(steps(KILL_STEP - 1), steps(KILL_STEP));
        assertThat(Double.parseDouble(ends.get(0).group(3))).as("it learns").isLessThan(0.05);
    }

    /** All of an epoch's samples by three ranks up to a step, and by two from there on. */
    private static int steps(int ofThree) {
        int perEpoch = ElasticDjlProgram.SAMPLES / ElasticDjlProgram.BATCH;
        int epochsOfThree = ofThree / (perEpoch / 3);
        int left = perEpoch - 3 * (ofThree - epochsOfThree * perEpoch / 3);
        return ofThree + (left + 1) / 2 + (ElasticDjlProgram.EPOCHS - epochsOfThree - 1) * perEpoch / 2;
    }
}
