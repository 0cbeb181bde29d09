package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import io.hvd.timeline.TraceFile;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import javax.management.NotificationEmitter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Timelines of three ranks as threads. */
@Timeout(60)
class TimelineTest {
    private static final int RANKS = 3;
    private static final int STEPS = 25;

    @TempDir
    private Path folder;

    private static <R> List<R> run(Map<String, String> settings, RankBody<R> body) {
        return LocalRanks.spawn(RANKS, InitOptions.standard(), settings, body);
    }

    private static void train(HvdContext hvd, int steps) {
        float[] twos = new float[1_000]; // more than a rank adds and copies in one go
        Arrays.fill(twos, 2);
        for (int step = 0; step < steps; step++) {
            Handle first = hvd.allreduceAsync("first", Tensor.of(1f, hvd.rank()), AllreduceOptions.average());
            Handle second = hvd.allreduceAsync("second", Tensor.of(twos), AllreduceOptions.sum());
            assertThat(first.synchronize().toArray()).isEqualTo(new float[] {1, 1});
            assertThat(second.synchronize().toFloatArray()).containsOnly(2f * RANKS);
            hvd.markStep();
        }
    }

    @Test
    void aFileInTheSettingHoldsEverythingFromInitToClose() {
        Path file = folder.resolve("t.json");

        run(Map.of("HOROVOD_TIMELINE", file.toString()), hvd -> {
            hvd.allgather("rows", Tensor.of((float) hvd.rank()));
            hvd.broadcast("weights", Tensor.of(1f, 2f), 1);
            train(hvd, STEPS);
            return null;
        });

        TraceFile trace = TraceFile.read(file);
        assertThat(trace.events().get(0).getAsJsonObject("args").has("start_time_since_epoch_in_micros"))
                .isTrue();
        assertThat(trace.ranks()).containsExactly(0, 1, 2);
        assertThat(trace.names())
                .contains("QUEUE", "NEGOTIATE_ALLREDUCE", "ALLREDUCE", "ALLGATHER", "BROADCAST", "SYNCHRONIZE")
                .contains("0", "1", "2", "STEP 1", "STEP " + (STEPS - 1))
                .contains("MEMCPY_IN_FUSION_BUFFER", "SHM_ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER", "ALLOCATE_OUTPUT")
                .doesNotContain("CYCLE_START");
        assertThat(trace.nesting())
                .contains(
                        "SHM_ALLREDUCE in ALLREDUCE",
                        "WAIT_FOR_DATA in ALLREDUCE",
                        "MEMCPY_OUT_FUSION_BUFFER in ALLREDUCE");
        assertThat(trace.runningBackwards()).isEmpty();
        assertThat(trace.named("ALLREDUCE")
                        .filter(event -> event.get("ph").getAsString().equals("E")))
                .hasSize(RANKS * 2 * STEPS);
        assertThat(trace.verdict())
                .first()
                .asString()
                .contains((STEPS - 1) + " steps on 3 ranks", "average times per step");
        assertThat(trace.verdict()).anyMatch(line -> line.startsWith("rank 2: ") && line.contains("compute"));
    }

    /** The JVM tells of a pause a moment later, on a thread of its own: the ranks collect until it is in the file. */
    @Test
    void pausesOfTheGarbageCollectorAreShown() {
        Path file = folder.resolve("t.json");
        var told = new CountDownLatch(1);

        run(Map.of("HOROVOD_TIMELINE", file.toString()), hvd -> {
            hvd.barrier();
            ManagementFactory.getGarbageCollectorMXBeans()
                    .forEach(collector -> ((NotificationEmitter) collector)
                            .addNotificationListener((pause, nothing) -> told.countDown(), null, null));
            while (told.getCount() > 0) {
                System.gc();
            }
            train(hvd, STEPS);
            return null;
        });

        assertThat(TraceFile.read(file).names()).contains("GC_PAUSE");
    }

    @Test
    void repeatedStepsAreShownWithoutNegotiation() {
        Path file = folder.resolve("t.json");

        run(Map.of("HOROVOD_TIMELINE", file.toString(), "HVD_STATIC_PLAN_STEPS", "3"), hvd -> {
            train(hvd, STEPS);
            return null;
        });

        assertThat(TraceFile.read(file).names()).contains("WAIT_FOR_OTHER_TENSOR_DATA");
    }

    @Test
    void theProgramStartsAndStopsADynamicOneAsOftenAsItLikes() {
        Map<String, String> dynamic = Map.of("HOROVOD_TIMELINE", "DYNAMIC");

        run(dynamic, hvd -> {
            train(hvd, 2);
            for (int part = 0; part < 3; part++) {
                Path file = folder.resolve("part-" + part + ".json");
                hvd.startTimeline(file, part == 1);
                hvd.allreduce("in part " + part, Tensor.of(1f));
                hvd.stopTimeline();
                if (hvd.rank() == 0) {
                    // Complete as soon as rank 0 is back, the other ranks' events included.
                    TraceFile trace = TraceFile.read(file);
                    assertThat(trace.ranks()).containsExactly(0, 1, 2);
                    assertThat(trace.names().contains("CYCLE_START")).isEqualTo(part == 1);
                    assertThat(tensors(trace)).contains("in part " + part).doesNotContain("first");
                }
                hvd.barrier();
            }
            return null;
        });

        assertThat(tensors(TraceFile.read(folder.resolve("part-2.json"))))
                .contains("in part 2")
                .doesNotContain("in part 0", "in part 1");
    }

    private static List<String> tensors(TraceFile trace) {
        return trace.named("thread_name")
                .map(event -> event.getAsJsonObject("args").get("name").getAsString())
                .toList();
    }

    @Test
    void startingWithoutTheSettingNamesVariableAndValue() {
        run(Map.of(), hvd -> {
            assertThatThrownBy(() -> hvd.startTimeline(folder.resolve("t.json"), false))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("HOROVOD_TIMELINE=DYNAMIC");
            assertThatThrownBy(hvd::stopTimeline)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("HOROVOD_TIMELINE=DYNAMIC");
            hvd.barrier();
            return null;
        });
    }

    @Test
    void aSecondStartWithoutAStopIsRefusedOnEveryRank() {
        run(Map.of("HOROVOD_TIMELINE", "DYNAMIC"), hvd -> {
            hvd.startTimeline(folder.resolve("t.json"), false);
            assertThatThrownBy(() -> hvd.startTimeline(folder.resolve("u.json"), false))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("stopTimeline()");
            return null;
        });
        assertThat(folder.resolve("u.json")).doesNotExist();
        assertThat(TraceFile.read(folder.resolve("t.json")).events()).isNotEmpty();
    }

    @Test
    void aFileThatCannotBeOpenedStopsNobody() {
        List<Float> sums =
                run(Map.of("HOROVOD_TIMELINE", folder.resolve("no/such/t.json").toString()), hvd -> {
                    train(hvd, 2);
                    return hvd.allreduce("sum", Tensor.of(1f), AllreduceOptions.sum())
                            .item();
                });

        assertThat(sums).containsOnly(3f);
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aRankThatThrowsLeavesAFileThatSaysWhy() throws IOException {
        Path file = folder.resolve("t.json");

        assertThatThrownBy(() -> run(Map.of("HOROVOD_TIMELINE", file.toString()), hvd -> {
                    train(hvd, 3);
                    if (hvd.rank() == 2) {
                        throw new IllegalStateException("enough");
                    }
                    train(hvd, 1);
                    return null;
                }))
                .isInstanceOf(HvdException.class);

        // Nobody waits for a timeline when a job fails; the timeline's own thread ends it. The blanks go last.
        while (Files.readString(file).endsWith(" \n]\n")) {
            Thread.onSpinWait();
        }
        assertThat(TraceFile.read(file).ranks()).contains(0);
        assertThat(TraceFile.read(file).verdict()).last().asString().contains("could not go on", "enough");
    }

    @Test
    void refusedOperationsAreRecordedWithTheirError() {
        Path file = folder.resolve("t.json");

        run(Map.of("HOROVOD_TIMELINE", file.toString()), hvd -> {
            Tensor odd = hvd.rank() == 1 ? Tensor.of(1f, 2f) : Tensor.of(1f);
            assertThatThrownBy(() -> hvd.allreduce("odd", odd)).isInstanceOf(HvdException.class);
            return null;
        });

        assertThat(TraceFile.read(file)
                        .named("NEGOTIATE_ALLREDUCE")
                        .filter(event -> event.has("args"))
                        .map(event -> event.getAsJsonObject("args").get("error").getAsString()))
                .hasSize(RANKS)
                .allMatch(error -> error.contains("odd"));
    }
}
