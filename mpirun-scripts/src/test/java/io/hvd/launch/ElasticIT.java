package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.junit.FaultPlan;
import io.hvd.testing.ElasticProgram;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Elastic jobs of real processes on this machine, whose ranks end at all sorts of moments. */
@Timeout(400)
final class ElasticIT {

    private static final List<String> STEPS = List.of("6", "10");
    private static final String KILL_ONE = FaultPlan.kill(1).atStep(20).toString();

    /** 6 epochs of 240 samples, of which each rank draws 4 in a step. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "kill 0 at step 20", // rank 0, and the last rank takes its number
                "kill 3 at step 20; kill 0 in sync 1", // the one from which the others take over the state
                "kill 3 at step 20; stop 1 for 500 ms at step 10", // another one stands still meanwhile, and comes back
            })
    void whoeverIsLostTheOthersGoOnFromTheLastStepAndDrawEachSampleOnce(String faults) {
        requireTheOthersGoOn(faults);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "kill 1 at step 20", // a rank that is not rank 0
                "kill 1 at step 20; kill 2 at step 20", // two at once
                "kill 3 at step 20; kill 1 in sync 1", // a second one while the others take over the state
                "kill 2 at step 0", // before the first step has ended
                "kill 1 in sync 0", // before there was any
            })
    @Tag("long")
    void atOtherMomentsToo(String faults) {
        requireTheOthersGoOn(faults);
    }

    private static void requireTheOthersGoOn(String faults) {
        Job job = elastic(faults, List.of("-np", "4", "--min-np", "2"));

        int lost = faults.split("kill").length - 1;
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
        Job job = elastic(FaultPlan.kill(0).atStep(40).toString(), List.of("-np", "3", "--min-np", "2"));

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
                KILL_ONE, List.of("-np", "3", "--min-np", "2", "--blacklist-cooldown-range", "1", "2"), "await=3");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("of 3 worker 3 step ")).as(job.output()).hasSize(1);
        assertThat(job.lines(" changes among 2")).as(job.output()).hasSize(2);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(3);
    }

    /** A host that goes down closes its connections, and ssh ends with 255, as a program may too. */
    @Test
    void theSlotOfAHostThatSshHasLostIsUsedAgainWhenTheHostIsBack(@TempDir Path folder) throws IOException {
        Path ssh = Files.writeString(folder.resolve("ssh"), """
                #!/bin/sh
                for words; do :; done
                [ "$words" != true ] || exit 255
                sh -c "$words" || exit 255
                """);
        Files.setPosixFilePermissions(ssh, PosixFilePermissions.fromString("rwx------"));

        Job job = elastic(
                KILL_ONE,
                Map.of("PATH", folder + ":" + System.getenv("PATH")),
                List.of("-np", "3", "--min-np", "2", "-H", "elsewhere:3"),
                "await=3");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("of 3 worker 3 step ")).as(job.output()).hasSize(1);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(3);
    }

    @Test
    @Tag("long")
    void aJobGrowsWhenItsDiscoveryScriptNamesMoreSlotsAndNoFurtherThanItMay(@TempDir Path folder) throws IOException {
        Path script = Files.writeString(folder.resolve("hosts"), """
                #!/bin/sh
                echo >> "$0.calls"
                if [ "$(wc -l < "$0.calls")" -lt 4 ]; then echo localhost:2; else echo localhost:9; fi
                """);
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));

        Job job = elastic(
                "",
                List.of("-np", "2", "--min-np", "2", "--max-np", "4", "--host-discovery-script", script.toString()),
                "await=4");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("generation 0 rank 0 of 2 worker 0 "))
                .as(job.output())
                .hasSize(1);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(4);
        assertThat(job.lines(" is lost: ")).as(job.output()).isEmpty();
    }

    @Test
    void tooFewRanksWaitToTheLimitAndTheEndNamesThoseThatAreLost() {
        Job job = elastic(KILL_ONE, List.of("-np", "2", "--min-np", "2", "--elastic-timeout", "2"));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(137);
        assertThat(job.output())
                .contains(
                        "only 1 of at least 2 ranks (--min-np) are there after 2 s",
                        "missing are rank 1 (worker 1 on ");
    }

    @Test
    void aBodyThatThrowsEndsItsRankAloneAndItsWordsAreKept() {
        Job job = elastic("", List.of("-np", "3", "--min-np", "2"), "throw=2@30");

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

    @Test
    void aRankThatGetsSigtermLeavesBehindAStepAndIsNotLost() {
        Job job = elastic(FaultPlan.terminate(1).atStep(20).toString(), List.of("-np", "3", "--min-np", "2"));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("SIGTERM has come: this rank leaves")).hasSize(1);
        assertThat(job.lines(" was abandoned: ")).as(job.output()).isEmpty();
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(2);
    }

    @Test
    void sigtermBehindTheLastStepComesTooLateToLeaveATrainingThatHasEnded() {
        Job job = elastic(FaultPlan.terminate(1).atStep(120).toString(), List.of("-np", "3", "--min-np", "2"));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(3);
    }

    @Test
    void aProcessSetIsMadeAnewInEachGeneration() {
        Job job = elastic(
                KILL_ONE, Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1"), List.of("-np", "4", "--min-np", "2"), "set");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("generation 0 set of [0, 1]")).as(job.output()).hasSizeGreaterThan(20);
        assertThat(job.lines("generation 1 set of [0, 1]")).as(job.output()).hasSizeGreaterThan(20);
        assertThat(job.lines("ended drawn 1440 each true")).as(job.output()).hasSize(3);
    }

    @Test
    void faultsForAJobThatIsNotElasticAreRefused() {
        Job job = Job.run(
                Job.program(ElasticProgram.class, STEPS.toArray(String[]::new)), Map.of(FaultPlan.VARIABLE, KILL_ONE));

        assertThat(job.output()).contains("HVD_FAULT_PLAN is \"" + KILL_ONE + "\", and this job is not elastic");
    }

    private static Job elastic(String faults, List<String> flags, String... options) {
        return elastic(faults, Map.of(), flags, options);
    }

    private static Job elastic(String faults, Map<String, String> settings, List<String> flags, String... options) {
        Map<String, String> environment = new HashMap<>(settings);
        environment.put(FaultPlan.VARIABLE, faults);
        List<String> args = new ArrayList<>(STEPS);
        args.addAll(List.of(options));
        List<String> words = new ArrayList<>(flags);
        words.addAll(Job.program(ElasticProgram.class, args.toArray(String[]::new)));
        return Job.run(Job.program(Horovodrun.class, words.toArray(String[]::new)), environment);
    }
}
