package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.junit.FaultPlan;
import io.hvd.testing.ElasticProgram;
import io.hvd.testing.FreePorts;
import io.hvd.testing.Job;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes that no launcher of hvd's has started, as pods are: one has the coordinator, and the others come to it. */
@Timeout(400)
final class ElasticPodsIT {
    private static final long LIMIT_SECONDS = 180;
    /** Within which the coordinator must be there, and the ranks of a generation must meet. */
    private static final String START_SECONDS = "100";

    private static final String SECRET = "between these processes alone";

    @TempDir
    private Path folder;

    private final List<Pod> pods = new ArrayList<>();
    private int port;
    private String faults = "";

    /** A process, and the file of its output. */
    private record Pod(Process process, Path output) {
        String text() throws IOException {
            return Files.readString(output);
        }

        Matcher await(String words) throws Exception {
            long begun = System.nanoTime();
            for (Matcher found = Pattern.compile(words).matcher(text()); ; found.reset(text())) {
                if (found.find()) {
                    return found;
                }
                assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun))
                        .as("seconds until \"" + words + "\" in\n" + text())
                        .isLessThan(LIMIT_SECONDS);
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }

        int exitCode() throws Exception {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as(text())
                    .isTrue();
            return process.exitValue();
        }
    }

    @AfterEach
    void endThoseThatAreLeft() {
        pods.forEach(pod -> pod.process().destroyForcibly());
    }

    private Pod start(List<String> words) throws IOException {
        Path output = folder.resolve("pod-" + pods.size());
        var builder = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(output.toFile());
        builder.environment().put("HVD_SECRET", SECRET);
        builder.environment().put("HVD_RENDEZVOUS", "elastic=localhost:" + port);
        builder.environment().put("HOROVOD_START_TIMEOUT", START_SECONDS);
        builder.environment().put(FaultPlan.VARIABLE, faults);
        Pod pod = new Pod(builder.start(), output);
        pods.add(pod);
        return pod;
    }

    private Pod coordinator(String... flags) throws IOException {
        List<String> words = new ArrayList<>(List.of("--elastic-coordinator", String.valueOf(port)));
        words.addAll(List.of(flags));
        return start(Job.program(Horovodrun.class, words.toArray(String[]::new)));
    }

    /** 6 epochs in steps of 10 ms. */
    private Pod worker(String... options) throws IOException {
        List<String> args = new ArrayList<>(List.of("6", "10"));
        args.addAll(List.of(options));
        return start(Job.program(ElasticProgram.class, args.toArray(String[]::new)));
    }

    @Test
    void aKilledPodIsReplacedByOneThatComesByItselfAndNoSampleIsLost() throws Exception {
        port = FreePorts.one();
        faults = FaultPlan.kill(1).atStep(30).toString();
        List<Pod> workers = new ArrayList<>(List.of(worker()));
        workers.get(0)
                .await("does not reach the coordinator of its elastic job at localhost:" + port
                        + ": Connection refused; it tries for " + START_SECONDS + " s");
        Pod coordinator = coordinator("--min-np", "3");
        workers.add(worker());
        workers.add(worker());
        coordinator.await("rank 1 \\(worker 1 on \\S+\\) is lost: its connection has ended");
        workers.add(worker());

        assertThat(coordinator.exitCode()).as(coordinator.text()).isZero();
        assertThat(coordinator.text())
                .contains("waits for them at port " + port)
                .contains("horovodrun: generation 0 begins with 3 ranks, of workers [0, 1, 2]")
                .containsPattern("horovodrun: worker 3 on \\S+ has come")
                .contains("horovodrun: generation 1 begins with 3 ranks, of workers [0, 3, 2]")
                .contains("horovodrun: the elastic job has ended");
        List<String> ends = new ArrayList<>();
        int killed = 0;
        for (Pod worker : workers) {
            killed += worker.exitCode() == 137 ? 1 : 0;
            worker.text().lines().filter(line -> line.startsWith("ended ")).forEach(ends::add);
        }
        assertThat(killed).isEqualTo(1);
        assertThat(ends).hasSize(3).allMatch(end -> end.startsWith("ended drawn 1440 each true hash "));
        assertThat(ends.stream().distinct()).as("bit for bit").hasSize(1);
    }

    @Test
    void aPodThatHasNoRankWhenTheJobEndsDoesNothingThatIsForATrainedOne() throws Exception {
        Pod coordinator = coordinator("--min-np", "1", "--max-np", "1");
        port = Integer.parseInt(coordinator.await("at port (\\d+)").group(1));
        Path come = folder.resolve("come");
        Pod trains = worker("until=" + come);
        trains.await("generation 0 rank");
        Pod waits = worker();
        coordinator.await("worker 1 on \\S+ has come");
        Files.createFile(come);

        assertThat(trains.exitCode()).as(trains.text()).isZero();
        assertThat(trains.text()).contains("ended drawn 1440 each true");
        assertThat(waits.exitCode()).as(waits.text()).isEqualTo(143);
        assertThat(waits.text())
                .contains("the job has ended before this process had a rank in it")
                .doesNotContain("ended drawn");
    }

    @Test
    void withoutTheCoordinatorNoPodGoesOn() throws Exception {
        Pod coordinator = coordinator("--min-np", "2");
        port = Integer.parseInt(coordinator.await("at port (\\d+)").group(1));
        List<Pod> workers = List.of(worker("await=3"), worker("await=3"));
        for (Pod worker : workers) {
            worker.await("generation 0 rank");
        }

        coordinator.process().destroyForcibly();

        for (Pod worker : workers) {
            assertThat(worker.exitCode()).as(worker.text()).isEqualTo(1);
            assertThat(worker.text())
                    .contains("leaves the elastic job: the coordinator has gone")
                    .doesNotContain("generation 1", "ended drawn");
        }
    }
}
