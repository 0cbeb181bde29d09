package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The benchmarks themselves, with as little to do as possible: what they say can be read. */
@Tag("long")
class BenchmarksIT {
    private static final Path ROOT = Path.of("..", "..").toAbsolutePath().normalize();

    /** A disturbed launch counts too, because nobody looks at the times; on a busy machine every launch is one. */
    private static final Map<String, String> ONE_TRY = Map.of("BENCH_TRIES", "1");

    /** On a busy machine training alone takes more than five minutes. */
    private static final long LIMIT_SECONDS = 900;

    @Test
    void allreduceUnderMpirunEndsWithLinesThatCanBeRead() {
        List<Result> results = allreduce("segmented");

        assertThat(results.stream().map(Result::bench).distinct())
                .containsExactlyInAnyOrder("allreduce-raw", "allreduce-heap");
        assertThat(results.stream().map(Result::bytes).distinct()).containsExactly(4L, 4096L, 1L << 20);
        assertThat(results).allSatisfy(result -> {
            assertThat(result.ranks()).isEqualTo(2);
            assertThat(result.oursMicros()).isPositive();
            assertThat(result.opponentMicros()).isPositive();
        });
        assertThat(opponents(results))
                .containsExactlyInAnyOrder(
                        "mpi.jar-N[segmented-ring-256k]",
                        "mpi.jar-N[best:segmented-ring-256k]",
                        "pack+mpi.jar-N[best:segmented-ring-256k]+unpack");
    }

    @Test
    void besideTheUsualSettingTheEngineIsTimedAndGloo() {
        List<Result> results = allreduce("default");

        assertThat(results.stream().map(Result::bench).distinct())
                .containsExactlyInAnyOrderElementsOf(withForeign(
                        "allreduce-foreign", "allreduce-raw", "allreduce-heap", "allreduce-engine", "allreduce-fp16"));
        assertThat(opponents(results))
                .containsExactlyInAnyOrder(
                        "mpi.jar-N[default]",
                        "mpi.jar-N[best:default]",
                        "pack+mpi.jar-N[default]+unpack",
                        "pack+mpi.jar-N[best:default]+unpack",
                        "hvd[uncompressed]",
                        "hvd[raw-collective]",
                        "gloo-torch-N[not-bound]");
        assertThat(results)
                .allSatisfy(
                        result -> assertThat(Double.parseDouble(result.more().get(Result.OTHERS)))
                                .isBetween(0.0, 100.0));
    }

    @Test
    void theNetworkIsTimedWithPlainTcpBesideIt() {
        List<Result> results = results(
                "network",
                "--hosts",
                "localhost:2",
                "--sizes",
                "4K,1M",
                "--rounds",
                "2",
                "--only",
                "default",
                "--launcher",
                "../../mpirun-scripts/horovodrun");

        assertThat(results.stream().map(Result::bytes).distinct()).containsExactly(4096L, 1L << 20);
        assertThat(results.stream().map(Result::bench).distinct())
                .containsExactlyInAnyOrderElementsOf(withForeign(
                        "network-foreign",
                        "network-float32",
                        "network-fp16",
                        "network-over-tcp",
                        "network-broadcast",
                        "network-allgather",
                        "network-reducescatter",
                        "network-alltoall",
                        "network-over-tcp-alltoall"));
        assertThat(opponents(results))
                .containsExactlyInAnyOrder(
                        "mpi.jar-N[default]",
                        "mpi.jar-N[best:default]",
                        "tcp[both-ways]",
                        "gloo-torch-N",
                        "hvd[shared_memory_over_mpi][float32]");
    }

    /** The benchmarks of every Java, and the one of those that have foreign functions. */
    private static List<String> withForeign(String foreign, String... always) {
        boolean newer = Runtime.version().feature() >= 22;
        return Stream.concat(Stream.of(always), newer ? Stream.of(foreign) : Stream.empty())
                .toList();
    }

    @Test
    void gradientsAreAveragedByAllWays() {
        List<Result> results =
                results("gradients", "--ranks", "2", "--rounds", "1", "--repeat", "1", "--only", "400x4KiB");

        assertThat(results).hasSize(20).allMatch(result -> result.bytes() == 400 * 4096);
        assertThat(results)
                .allSatisfy(
                        result -> assertThat(Double.parseDouble(result.more().get("memory_percent")))
                                .isPositive());
    }

    @Test
    void trainingIsComparedWithAllWays() {
        List<Result> results =
                results("training", "--ranks", "1,2", "--rounds", "10", "--repeat", "2", "--only", "mnist");

        assertThat(opponents(results))
                .containsExactlyInAnyOrder(
                        "torch-N[without-hvd]",
                        "torch-N[2-processes-without-communication]",
                        "torch-N[2-processes-without-communication,in-step]",
                        "torch-N[ddp-reducer,gloo]",
                        "hvd[uncompressed]",
                        "hvd[1-rank,ratio=efficiency]");
    }

    @Test
    void theEngineIsTimedWithRanksAsThreads() {
        List<Result> results = results("scale", "--ranks", "2,5", "--sizes", "1,3", "--rounds", "5", "--repeat", "1");

        assertThat(results.stream().map(result -> result.ranks() + " " + result.bytes()))
                .containsExactly("2 256", "5 256", "2 768", "5 768");
    }

    @Test
    void startsAreTimed() {
        List<Result> results =
                results("start", "--ranks", "2", "--repeat", "1", "--launcher", "../../mpirun-scripts/horovodrun");

        assertThat(results.stream().map(Result::bench))
                .containsExactly(
                        "start-init",
                        "start-step",
                        "start-step",
                        "start-gloo-init",
                        "start-by-hand-init",
                        "start-gloo-step",
                        "start-by-hand-step");
        assertThat(results.get(0).oursMicros()).isBetween(1e4, results.get(1).oursMicros());
    }

    @Test
    void kernelsAreTimed() {
        List<Result> results = results("kernels", "--quick", "--rounds", "1", "--sizes", "4K");

        assertThat(results).hasSize(4 * 3 + 7).allMatch(result -> result.bytes() == 4096);
    }

    @Test
    void theCostModelIsFittedSavedAndHeldAgainstOtherSizes(@TempDir Path folder) {
        String model = folder.resolve("model.json").toString();
        List<Result> checks = results(
                "model",
                "--ranks",
                "2",
                "--sizes",
                "64,4K,64K,256K",
                "--check-sizes",
                "1K,128K",
                "--rounds",
                "2",
                "--repeat",
                "1",
                "--out",
                model,
                "--launcher",
                "../../mpirun-scripts/horovodrun");

        assertThat(checks.stream().map(result -> result.bench() + " " + result.bytes()))
                .containsExactlyInAnyOrder(
                        "model-mpi 1024",
                        "model-mpi 131072",
                        "model-shared-memory 1024",
                        "model-shared-memory 131072",
                        "model-ring 1024",
                        "model-ring 131072");
        assertThat(checks).allSatisfy(check -> {
            assertThat(check.oursMicros()).isPositive();
            assertThat(Double.parseDouble(check.more().get("relative_error")))
                    .isCloseTo(check.oursMicros() / check.opponentMicros() - 1, within(0.01));
        });
        assertThat(Path.of(model)).content().contains("\"shared-memory\"", "\"mpi\"", "\"ring\"");

        Job prediction = Job.run(
                Job.program(
                        Bench.class,
                        "model",
                        "--model",
                        model,
                        "--predict",
                        "1x8,2x1",
                        "--check-sizes",
                        "1M",
                        "--cores",
                        "8"),
                Map.of());
        assertThat(prediction.exitCode()).as(prediction.output()).isZero();
        assertThat(prediction.output())
                .containsPattern("\\| 1 x 8 \\| 1048576 \\| no limit \\| [\\d.]+ \\| 0 %")
                .contains("| 2 x 1 | 1048576 | no limit | - | - |", "8 cores of its own")
                .doesNotContain("RESULT");
    }

    /** Ranks that go on would disturb what is measured next. */
    @Test
    void anEndedBenchmarkTakesItsRanksWithIt() throws Exception {
        Process bench = new ProcessBuilder(Job.program(
                        Bench.class,
                        "allreduce",
                        "--ranks",
                        "2",
                        "--sizes",
                        "4",
                        "--rounds",
                        "100000",
                        "--only",
                        "ucx"))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        List<ProcessHandle> started = List.of();
        while (started.size() < 3) { // mpirun and two ranks
            assertThat(bench.isAlive()).isTrue();
            Thread.sleep(20);
            started = bench.descendants().toList();
        }
        bench.destroy();

        assertThat(bench.waitFor(20, TimeUnit.SECONDS)).isTrue();
        for (ProcessHandle process : started) {
            process.onExit().get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void whatMeasuresNothingSaysWhy() {
        Job job = Job.run(Job.program(Bench.class, "allreduce", "--only", "nonsense"), Map.of());

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("nothing was measured: no name contains \"nonsense\"");
    }

    @Test
    void aMistakeIsNamedAndEndsWithTwo() {
        Job job = Job.run(Job.program(Bench.class, "allreduce", "--ranks", "two"), Map.of());

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains("--ranks has \"two\"").doesNotContain("Exception");
    }

    /** --help comes last, so all flags before it have been understood. Two scripts have flags of their own only. */
    @Test
    void theScriptsUnderstandThePagesLines() throws IOException {
        List<String> commands = Files.readAllLines(ROOT.resolve("docs/records/benchmarks.md")).stream()
                .filter(line -> line.startsWith("mpirun-scripts/bench-") && !line.contains("bench-report"))
                .toList();
        assertThat(commands).hasSize(11);
        for (String command : commands) {
            Job job = Job.run(List.of("sh", "-c", "cd '" + ROOT + "' && " + command + " --help"), Map.of());
            assertThat(job.exitCode()).as(command + "\n" + job.output()).isZero();
            assertThat(job.output())
                    .contains(Stream.of(command.split(" "))
                            .filter(word -> word.startsWith("--"))
                            .toList());
            if (!command.matches(".*/bench-(all|optimizers)\\.sh .*")) {
                assertThat(job.output()).contains("--quick", "--ranks", "--sizes", "--rounds", "--repeat");
            }
        }
    }

    private static List<Result> allreduce(String setting) {
        return results(
                "allreduce", "--ranks", "2", "--sizes", "4,4K,1M", "--rounds", "2", "--repeat", "1", "--only", setting);
    }

    private static Set<String> opponents(List<Result> results) {
        return results.stream()
                .map(result -> result.opponent().replaceAll("\\d+\\.\\d+\\.\\d+", "N"))
                .collect(Collectors.toSet());
    }

    private static List<Result> results(String... args) {
        Job job = Job.run(Job.program(Bench.class, args), ONE_TRY, LIMIT_SECONDS);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("MACHINE ")).hasSize(1);
        return job.output().lines().map(Result::parse).flatMap(Optional::stream).toList();
    }
}
