package io.hvd.trace;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The start of every rank would take the tenth of a second longer that the JVM needs for classes of events. */
class EventsWithoutRecordingTest {
    @Test
    void withoutARecordingTheJvmPreparesNoEvents() {
        List<String> command = Job.program(Steps.class);
        command.add(1, "-Xlog:class+load");

        Job job = Job.run(command, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(JfrEvents.class.getName())).isNotEmpty();
        assertThat(job.lines("jdk.jfr.Event ")).as("classes of events").isEmpty();
    }

    static final class Steps {
        private Steps() {}

        public static void main(String[] args) {
            FlightRecorder recorder = new FlightRecorder(2);
            recorder.joined(new FlightRecorder.Job(0, 1, "host", "local", ""));
            Call call = recorder.submitted(new Call.Operation("allreduce", "x", "float32 [1]", 0, List.of(0)));
            recorder.entered(call, call);
            recorder.ended(call, "");
            recorder.step();
            recorder.stalled("x", List.of(0), List.of(0), 1);
            if (recorder.isWatched()) {
                throw new IllegalStateException("nobody listens, and nothing records");
            }
        }
    }
}
