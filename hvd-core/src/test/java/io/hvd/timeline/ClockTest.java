package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.hvd.config.HvdConfig;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** EventReporter and collector, driven turn by turn without their threads, with a clock that is an hour wrong. */
@Timeout(60)
class ClockTest {
    private static final long HOUR = 3_600_000_000_000L;
    private static final LongSupplier WRONG = () -> System.nanoTime() - HOUR;

    @TempDir
    private Path folder;

    private final List<ControlChannel> channels = LocalProvider.ofThreads(2, 4096).stream()
            .map(provider -> provider.open(HvdConfig.from(Map.of()), List.of()))
            .map(Backend::openChannel)
            .toList();
    private final EventCollector collector = new EventCollector(channels.get(0), List.of("left", "right"));
    private final EventReporter reporter = new EventReporter(channels.get(1), WRONG);

    private void turns(CompletableFuture<Void> until) {
        while (!until.isDone()) {
            collector.turn();
            reporter.turn();
            channels.get(0).receive(0, collector);
            channels.get(1).receive(0, reporter);
        }
    }

    @Test
    void aRankWhoseClockIsAnHourBehindIsShownInRankZerosTime() {
        Path file = folder.resolve("t.json");
        EventBuffer events = new EventBuffer(false);
        collector.begin(1, file, new EventBuffer(false));
        reporter.begin(1, file, events);
        events.step(WRONG.getAsLong());
        events.step(WRONG.getAsLong());
        events.waited(0, "w", WRONG.getAsLong(), WRONG.getAsLong());
        CompletableFuture<Void> reported = new CompletableFuture<>();
        CompletableFuture<Void> collected = new CompletableFuture<>();
        reporter.end(reported);
        collector.end(collected);

        turns(CompletableFuture.allOf(reported, collected));

        JsonObject wait = TraceFile.read(file).named("SYNCHRONIZE").findFirst().orElseThrow();
        // Since the start of this timeline; an hour would be 3.6e9, and what is before the start is cut to 0.
        assertThat(TraceFile.micros(wait, "ts")).isBetween(1.0, 30e6);
    }

    @Test
    void eventsOfAnEarlierTimelineAreNotTakenForThisOnes() {
        Path file = folder.resolve("t.json");
        collector.begin(2, file, new EventBuffer(false));
        EventBuffer events = new EventBuffer(false);
        reporter.begin(1, file, events);
        events.waited(0, "w", WRONG.getAsLong(), WRONG.getAsLong());
        CompletableFuture<Void> reported = new CompletableFuture<>();
        reporter.end(reported);

        turns(reported);
        channels.get(0).receive(0, collector);

        assertThat(TraceFile.read(file).names()).doesNotContain("SYNCHRONIZE");
    }

    @Test
    void whereNobodyListensNothingIsKept() {
        FlightRecorder recorder = new FlightRecorder(4);
        EventBuffer events = new EventBuffer(true);
        Call.Operation operation = new Call.Operation("allreduce", "w", "float32[1]", 0, List.of(0));
        recorder.listen(events);
        Call heard = recorder.submitted(operation);
        recorder.cycle();
        recorder.listen(null);
        recorder.started(heard, heard);
        recorder.ended(heard, "");
        recorder.cycle();

        assertThat(events.drain())
                .extracting(TimelineEvent::kind)
                .containsExactly(TimelineEvent.Kind.SUBMITTED, TimelineEvent.Kind.CYCLE);
        assertThat(events.drain()).isEmpty();
        assertThat(heard.startedNanos()).isPositive();
        assertThat(recorder.pending()).isEmpty();
    }
}
