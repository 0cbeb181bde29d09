package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What recordings of JDK Flight Recorder hold of three ranks as threads. */
@Timeout(120)
class FlightRecordingTest {
    private static final int RANKS = 3;
    private static final int STEPS = 20;

    @TempDir
    private Path folder;

    private interface Program {
        void run(HvdContext hvd) throws Exception;
    }

    /**
     * The events of a program that all ranks run. They are written while the ranks live, because JDK 17 may lose longer
     * texts of threads that have ended.
     */
    private List<RecordedEvent> recorded(Program program) throws Exception {
        Path file = folder.resolve("test.jfr");
        try (Recording recording = new Recording()) {
            recording.start();
            run(hvd -> {
                program.run(hvd);
                hvd.barrier();
                if (hvd.rank() == 0) {
                    recording.stop();
                    recording.dump(file);
                }
                hvd.barrier();
            });
        }
        return eventsOf(file);
    }

    private static void run(Program program) {
        LocalRanks.spawn(RANKS, InitOptions.standard(), Map.of(), hvd -> {
            program.run(hvd);
            return null;
        });
    }

    private static List<RecordedEvent> eventsOf(Path file) throws IOException {
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("hvd."))
                .sorted(Comparator.comparing(RecordedEvent::getStartTime))
                .toList();
    }

    private static Stream<RecordedEvent> of(List<RecordedEvent> events, String name, int rank) {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals(name) && event.getInt("rank") == rank);
    }

    private static List<RecordedEvent> collectives(List<RecordedEvent> events, int rank, String name) {
        return of(events, "hvd.Collective", rank)
                .filter(event -> event.getString("name").equals(name))
                .toList();
    }

    /** Rank 2 calls behind the barrier, and rank 0 has heard the other ranks' calls before the barrier ends. */
    @Test
    void aNegotiatedAllreduceTellsWhatTravelledAndWhichRankCameLast() throws Exception {
        long begun = System.nanoTime();
        List<RecordedEvent> events = recorded(hvd -> {
            if (hvd.rank() == 2) {
                hvd.barrier();
                hvd.allreduce("late", Tensor.of(1f, 2f), AllreduceOptions.sum());
            } else {
                Handle handle = hvd.allreduceAsync("late", Tensor.of(1f, 2f), AllreduceOptions.sum());
                hvd.barrier();
                handle.synchronize();
            }
        });

        Duration whole = Duration.ofNanos(System.nanoTime() - begun);
        RecordedEvent late = collectives(events, 2, "late").get(0);
        for (int rank = 0; rank < RANKS; rank++) {
            RecordedEvent event = collectives(events, rank, "late").get(0);
            assertThat(event.getString("kind")).isEqualTo("allreduce");
            assertThat(event.getString("tensor")).contains("float32").contains("2");
            assertThat(event.getLong("bytes")).isEqualTo(8);
            assertThat(event.getInt("processSet")).isZero();
            assertThat(event.getBoolean("negotiated")).isTrue();
            assertThat(event.getString("batch")).isEqualTo("late");
            assertThat(event.getString("error")).isEmpty();
            assertThat(event.getString("caller")).contains(String.valueOf(rank));
            assertThat(event.getDuration("queued")).isPositive().isLessThan(whole);
            assertThat(event.getInt("lastRank")).isEqualTo(rank == 0 ? 2 : -1);
            assertThat(event.getStartTime()).isBeforeOrEqualTo(late.getStartTime());
            assertThat(event.getEndTime()).isAfterOrEqualTo(late.getStartTime());
        }
        assertThat(of(events, "hvd.Job", 1).toList()).singleElement().satisfies(job -> {
            assertThat(job.getInt("size")).isEqualTo(RANKS);
            assertThat(job.getString("host")).isNotEmpty();
        });
    }

    @Test
    void aSettledStepIsSaidToBeNoNegotiatedOneAndStepsAreCounted() throws Exception {
        List<RecordedEvent> events = recorded(hvd -> {
            List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(1f, 2f, 3f));
            try (var prepared = hvd.prepareAllreduce(List.of("a", "b"), tensors, AllreduceOptions.average())) {
                for (int step = 0; step < STEPS; step++) {
                    prepared.start();
                    prepared.await();
                    hvd.markStep();
                }
            }
        });

        for (int rank = 0; rank < RANKS; rank++) {
            List<RecordedEvent> all = collectives(events, rank, "b");
            assertThat(all).hasSize(STEPS).allMatch(event -> event.getLong("bytes") == 12);
            assertThat(all.get(0).getBoolean("negotiated")).isTrue();
            RecordedEvent last = all.get(STEPS - 1);
            assertThat(last.getBoolean("negotiated")).isFalse();
            assertThat(last.getString("batch")).isEqualTo("a");
            assertThat(of(events, "hvd.Step", rank).map(event -> event.getLong("number")))
                    .startsWith(2L, 3L)
                    .hasSize(STEPS - 1);
        }
    }

    @Test
    void anOperationThatIsRefusedSaysWhy() throws Exception {
        List<RecordedEvent> events = recorded(hvd -> {
            Tensor mine = hvd.rank() == 0 ? Tensor.of(1f) : Tensor.of(1f, 2f);
            assertThatThrownBy(() -> hvd.allreduce("odd", mine, AllreduceOptions.sum()))
                    .isInstanceOf(HvdException.class);
        });

        assertThat(collectives(events, 1, "odd"))
                .singleElement()
                .satisfies(event -> assertThat(event.getString("error")).contains("odd", "shape"));
    }

    /** A recording may begin at any time, also between a call and its end. */
    @Test
    void aRecordingThatBeginsLateTellsOfTheJobAndOfWhatComesAfterwards() throws Exception {
        Path file = folder.resolve("late.jfr");
        run(hvd -> {
            hvd.allreduce("before", Tensor.of(1f), AllreduceOptions.sum());
            try (Recording recording = new Recording()) {
                if (hvd.rank() == 0) {
                    recording.start();
                }
                hvd.barrier();
                hvd.allreduce("meanwhile", Tensor.of(1f), AllreduceOptions.sum());
                hvd.barrier();
                if (hvd.rank() == 0) {
                    recording.stop();
                    recording.dump(file);
                }
            }
            hvd.barrier();
            hvd.allreduce("after", Tensor.of(1f), AllreduceOptions.sum());
        });

        List<RecordedEvent> events = eventsOf(file);
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(collectives(events, rank, "meanwhile")).hasSize(1);
            assertThat(collectives(events, rank, "before")).isEmpty();
            assertThat(collectives(events, rank, "after")).isEmpty();
            assertThat(of(events, "hvd.Job", rank)).hasSize(1);
        }
    }
}
