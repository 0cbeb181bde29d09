package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.ElasticProgram;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Elastic jobs of real processes on this machine, whose ranks end at all sorts of moments. */
@Timeout(240)
final class ElasticIT {

    private static final List<String> STEPS = List.of("6", "10");

    /** 6 epochs of 240 samples, of which each rank draws 4 in a step. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "die=1@20", // a rank that is not rank 0
                "die=0@20", // rank 0, and the last rank takes its number
                "die=1@20 die=2@20", // two at once
                "die=3@20 sync=1@1", // a second one while the others take over the state
                "die=3@20 sync=0@1", // the one from which they take it
                "die=2@0", // before the first step has ended
                "sync=1@0", // before there was any
            })
    void whoeverIsLostTheOthersGoOnFromTheLastStepAndDrawEachSampleOnce(String faults) {
        Job job = elastic(Map.of(), List.of("-np", "4", "--min-np", "2"), faults.split(" "));

        int lost = faults.split(" ").length;
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("ended drawn 1440 each true hash "))
                .as(job.output())
                .hasSize(4 - lost);
        assertThat(job.lines("ended drawn ").stream().distinct())
                .as("bit for bit")
                .hasSize(1);
        assertThat(job.lines(" is lost: ")).as(job.output()).hasSize(lost);
        assertThat(job.output().lines().filter(line -> line.startsWith("worker ")))
                .as("no process was started again")
                .hasSize(4);
    }

    @Test
    void theStateIsThatOfTheLastStepAndRanksThatStillExistStay() {
        Job job = elastic(Map.of(), List.of("-np", "3", "--min-np", "2"), "die=0@40");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("generation 1 rank 1 of 2 worker 1 step 40"))
                .as(job.output())
                .hasSize(1);
        assertThat(job.lines("generation 1 rank 0 of 2 worker 2 step 40"))
                .as(job.output())
                .hasSize(1);
        assertThat(job.lines("rank 0 (worker 0 on ")).isNotEmpty();
    }

    @Test
    void aSlotThatHasCooledDownIsUsedAgainAndTheNewRankGetsTheState() {
        Job job = elastic(
                Map.of(),
                List.of("-np", "3", "--min-np", "2", "--blacklist-cooldown-range", "1", "2"),
                "die=1@20",
                "await=3");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("of 3 worker 3 step ")).as(job.output()).hasSize(1);
        assertThat(job.lines(" changes among 2")).as(job.output()).hasSize(2);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(3);
    }

    @Test
    void tooFewRanksWaitToTheLimitAndTheEndNamesThoseThatAreLost() {
        Job job = elastic(Map.of(), List.of("-np", "2", "--min-np", "2", "--elastic-timeout", "2"), "die=1@20");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(137);
        assertThat(job.output())
                .contains(
                        "only 1 of at least 2 ranks (--min-np) are there after 2 s",
                        "missing are rank 1 (worker 1 on ");
    }

    @Test
    void aBodyThatThrowsEndsItsRankAloneAndItsWordsAreKept() {
        Job job = elastic(Map.of(), List.of("-np", "3", "--min-np", "2"), "throw=2@30");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("is lost: thread main threw java.lang.IllegalStateException: a mistake in the program"))
                .as(job.output())
                .hasSize(1);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(2);
    }

    @Test
    void aProgramThatJoinsByItselfIsToldHow() {
        List<String> words = new ArrayList<>(List.of("-np", "1", "--min-np", "1"));
        words.addAll(Job.program(HostsProgram.class));

        Job job = Job.run(Job.program(Horovodrun.class, words.toArray(String[]::new)), Map.of());

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output()).contains("this job is elastic", "Elastic.run(state, body)");
    }

    @Test
    void withoutAnElasticLauncherTheSameProgramIsAJobOfAFixedSize() {
        Job alone = Job.run(Job.program(ElasticProgram.class, "1", "0"), Map.of());
        Job mpirun = Job.horovodrun(2, ElasticProgram.class, "1", "0");

        assertThat(alone.lines("ended drawn 240 each true")).as(alone.output()).hasSize(1);
        assertThat(mpirun.lines("ended drawn 240 each true"))
                .as(mpirun.output())
                .hasSize(2);
    }

    private static Job elastic(Map<String, String> environment, List<String> flags, String... faults) {
        List<String> args = new ArrayList<>(STEPS);
        args.addAll(List.of(faults));
        List<String> words = new ArrayList<>(flags);
        words.addAll(Job.program(ElasticProgram.class, args.toArray(String[]::new)));
        return Job.run(Job.program(Horovodrun.class, words.toArray(String[]::new)), environment);
    }
}
