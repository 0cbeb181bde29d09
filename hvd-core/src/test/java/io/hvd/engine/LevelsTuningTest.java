package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.config.Setting;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.host.local.LocalProvider;
import io.hvd.host.shm.SharedPlanes;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.testing.OnNodes;
import io.hvd.trace.FlightRecorder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** Ranks of two hosts, as far as the engine knows, whose allreduces autotuning switches between one level and two. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class LevelsTuningTest {
    private static final List<String> HOSTS = List.of("a", "a", "b", "b");
    private static final int[] ELEMENTS = {3, 20_000, 1, 700};
    private static final int MOST_STEPS = 5_000;

    /** What a rank has seen: the values of HOROVOD_HIERARCHICAL_ALLREDUCE that held, and the line at the end. */
    private record Seen(Set<String> ways, String line) {}

    /** Static plans come and go meanwhile: a veto reaches all ranks on the way that holds. */
    @Test
    void resultsAreRightOnBothWaysAndTheLogAndTheLineTellThem(@TempDir Path folder) throws Exception {
        Path log = folder.resolve("tune.csv");
        List<Seen> seen = tune(log, Map.of(), Set.of(Setting.FUSION_THRESHOLD));

        assertThat(seen).allSatisfy(rank -> assertThat(rank.ways()).containsExactlyInAnyOrder("0", "1"));
        assertThat(seen).extracting(Seen::line).containsOnly(seen.get(0).line());
        assertThat(seen.get(0).line())
                .containsPattern("(chose|others,|keeps) .*HOROVOD_HIERARCHICAL_ALLREDUCE=[01]")
                .doesNotContain("gives no choice");
        List<String> lines = Files.readAllLines(log);
        assertThat(lines.stream().filter(line -> line.endsWith(",search")).map(line -> line.charAt(0)))
                .contains('0', '1');
        boolean chosen = seen.get(0).line().contains("chose HOROVOD_HIERARCHICAL_ALLREDUCE=0");
        assertThat(lines.get(lines.size() - 1)).startsWith(chosen ? "0," : "1,").endsWith(",best");
    }

    @Test
    void aWayThatTheJobHasSaidHoldsFromTheStartAndIsNotTuned(@TempDir Path folder) throws Exception {
        List<Seen> seen = tune(
                folder.resolve("tune.csv"),
                Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "0"),
                Set.of(Setting.FUSION_THRESHOLD, Setting.HIERARCHICAL_ALLREDUCE));

        assertThat(seen).allSatisfy(rank -> assertThat(rank.ways()).containsExactly("0"));
        assertThat(seen.get(0).line())
                .contains(
                        "Set by the job, and so not tuned: HOROVOD_FUSION_THRESHOLD, HOROVOD_HIERARCHICAL_ALLREDUCE.");
    }

    private static List<Seen> tune(Path log, Map<String, String> job, Set<Setting> fixed) throws Exception {
        HvdConfig config = HvdConfig.from(job);
        AutotuneSettings autotune = new AutotuneSettings(true, Optional.of(log), 0, 1, 0, 20, fixed, false, false);
        EngineSettings settings = new EngineSettings(
                1 << 20, true, 0, 1024, 3, false, false, 0, config.engine().levels());
        List<CompletableFuture<Seen>> ranks = new ArrayList<>();
        List<LocalProvider> team = LocalProvider.ofThreads(HOSTS.size(), 4096);
        for (int i = 0; i < HOSTS.size(); i++) {
            int rank = i;
            ranks.add(CompletableFuture.supplyAsync(
                    () -> onRank(rank, team.get(rank), config, settings, autotune),
                    task -> new Thread(task, "levels-" + rank).start()));
        }
        List<Seen> seen = new ArrayList<>();
        for (CompletableFuture<Seen> rank : ranks) {
            seen.add(rank.get(50, TimeUnit.SECONDS));
        }
        return seen;
    }

    /** The engine has a thread of its own, on which its back end is opened. */
    private static Seen onRank(
            int rank, LocalProvider local, HvdConfig config, EngineSettings settings, AutotuneSettings autotune) {
        CompletableFuture<Engine> opened = new CompletableFuture<>();
        Thread communication = new Thread(
                () -> {
                    Backend threads = OnNodes.of(local, rank, HOSTS).open(config, List.of());
                    Backend backend = threads.with(
                            "shared memory",
                            new SharedPlanes(
                                    threads.planes(), threads.topology(), threads::exchange, ReduceKernel.NONE));
                    Engine engine =
                            new Engine(backend, List.of(), settings, autotune, new FlightRecorder(16), why -> {});
                    opened.complete(engine);
                    engine.run();
                },
                "levels-engine-" + rank);
        communication.setDaemon(true);
        communication.start();
        Engine engine = opened.join();
        Set<String> ways = new HashSet<>();
        int over = 0;
        for (int step = 0; over < HOSTS.size(); step++) {
            assertThat(step).isLessThan(MOST_STEPS);
            over = step(engine, rank, step);
            ways.add(engine.tunedSettings().get("HOROVOD_HIERARCHICAL_ALLREDUCE"));
        }
        String line = engine.tuningResult().orElseThrow();
        engine.close();
        return new Seen(ways, line);
    }

    /** @return on how many ranks the search is over */
    private static int step(Engine engine, int rank, int step) {
        Reduction sum = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
        Tensor over = Tensor.of(engine.tuningResult().isPresent() ? 1f : 0f);
        List<Tensor> tensors = new ArrayList<>();
        List<PendingOp> ops = new ArrayList<>();
        for (int elements : ELEMENTS) {
            float[] values = new float[elements];
            Arrays.fill(values, rank + elements + step);
            tensors.add(Tensor.of(values));
        }
        tensors.add(over);
        for (int i = 0; i < tensors.size(); i++) {
            Request request = Request.reduction("t" + i, OpKind.ALLREDUCE, tensors.get(i), sum);
            ops.add(engine.operation(0, List.of(0, 1, 2, 3), request, tensors.get(i), tensors.get(i)));
        }
        engine.submit(ops, true);
        ops.forEach(engine::await);
        for (int i = 0; i < ELEMENTS.length; i++) {
            float[] expected = new float[ELEMENTS[i]];
            Arrays.fill(expected, 6 + 4 * (ELEMENTS[i] + step));
            assertThat(tensors.get(i).toFloatArray()).as("step " + step).isEqualTo(expected);
        }
        return Math.round(over.toFloatArray()[0]);
    }
}
