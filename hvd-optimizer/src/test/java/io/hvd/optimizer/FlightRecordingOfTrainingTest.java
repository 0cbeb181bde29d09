package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a recording of JDK Flight Recorder holds of a training of two ranks as threads. */
@Timeout(60)
class FlightRecordingOfTrainingTest {
    private static final int RANKS = 2;
    private static final int STEPS = 20;

    @TempDir
    private Path folder;

    @Test
    void stepsHaveTheirGradientsAndTheirWaitsForData() throws Exception {
        Path file = folder.resolve("training.jfr");
        try (Recording recording = new Recording()) {
            recording.start();
            Training.run();
            recording.stop();
            recording.dump(file);
        }

        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        for (int rank = 0; rank < RANKS; rank++) {
            int mine = rank;
            List<RecordedEvent> gradients = named(events, "hvd.Gradients").stream()
                    .filter(event -> event.getInt("rank") == mine)
                    .toList();
            assertThat(gradients).hasSize(STEPS).allSatisfy(event -> {
                assertThat(event.getLong("bytes")).isEqualTo(4 * (4 * 5 + 4 + 4 + 1));
                assertThat(event.getLong("bytesSent")).isEqualTo(event.getLong("bytes"));
                assertThat(event.getDouble("overlap")).isBetween(0.0, 1.0);
                assertThat(event.getDuration("exposed")).isLessThanOrEqualTo(event.getDuration());
            });
        }
        assertThat(named(events, "hvd.Step")).hasSize(RANKS * (STEPS - 1));
        assertThat(named(events, "hvd.DataWait").stream().map(event -> event.getInt("batch")))
                .hasSize(RANKS * STEPS)
                .contains(0, STEPS - 1);
    }

    @Test
    void theMembersOfAProcessSetHaveTheirRanksInTheJobAndTheOtherRanksWaitForNobody() throws Exception {
        Path file = folder.resolve("set.jfr");
        InitOptions pair = InitOptions.standard().withProcessSets(List.of(List.of(1, 2)));
        try (Recording recording = new Recording()) {
            recording.start();
            Hvd.spawn(3, pair, hvd -> {
                TinyNet net = new TinyNet(1);
                try (var optimizer = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.1f))
                        .processSet(hvd.processSet(1))
                        .build()) {
                    net.backward(1, 2);
                    optimizer.step();
                }
                return null;
            });
            recording.stop();
            recording.dump(file);
        }

        assertThat(named(RecordingFile.readAllEvents(file), "hvd.Gradients").stream()
                        .map(event -> event.getInt("rank")))
                .containsExactlyInAnyOrder(1, 2);
    }

    /** The start of every rank would take the time longer that the JVM needs for classes of events. */
    @Test
    void withoutARecordingTheJvmPreparesNoEvents() {
        List<String> command = Job.program(Training.class);
        command.add(1, "-Xlog:class+load");

        Job job = Job.run(command, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(DataLoader.class.getName())).isNotEmpty();
        assertThat(job.lines(StepStats.class.getName())).isNotEmpty();
        assertThat(job.lines("jdk.jfr.Event ")).as("classes of events").isEmpty();
    }

    static final class Training {
        private Training() {}

        public static void main(String[] args) throws Exception {
            run();
        }

        static void run() throws Exception {
            Hvd.spawn(RANKS, hvd -> {
                TinyNet net = new TinyNet(1);
                var sampler = new DistributedSampler(RANKS * STEPS, RANKS, hvd.rank());
                try (var optimizer = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.1f))
                                .build();
                        var loader = DataLoader.builder(new Numbers(), sampler, Function.identity())
                                .batchSize(1)
                                .build()) {
                    for (List<Integer> batch : loader) {
                        optimizer.zeroGradients();
                        net.backward(batch.get(0), batch.get(0) + 1);
                        optimizer.step();
                    }
                }
                return null;
            });
        }
    }

    private static final class Numbers implements Dataset<Integer> {
        @Override
        public int size() {
            return RANKS * STEPS;
        }

        @Override
        public Integer get(int index) {
            return index;
        }
    }

    private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals(name))
                .toList();
    }
}
