package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.hvd.timeline.TimelineEvent.Kind;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TraceRenderingTest {
    private final TraceRendering rendering = new TraceRendering(1_000_000, List.of("left", "left", "right"));

    private static TimelineEvent event(Kind kind, long micros, String name, String what, String text) {
        long nanos = 1_000_000 + micros * 1000;
        return new TimelineEvent(kind, nanos, nanos, 0, name, what, text);
    }

    private static TimelineEvent during(Kind kind, long from, long to, String name, String what, String text) {
        return new TimelineEvent(kind, 1_000_000 + from * 1000, 1_000_000 + to * 1000, 0, name, what, text);
    }

    private TraceFile rendered() {
        return TraceFile.parse("[" + String.join(",", rendering.take()) + "]");
    }

    private static List<String> phases(TraceFile file, int rank) {
        return file.events().stream()
                .filter(event -> event.has("ts") && event.get("pid").getAsInt() == rank + 1)
                .map(event -> TraceFile.string(event, "ph") + " " + TraceFile.string(event, "name") + " "
                        + event.get("ts").getAsLong())
                .toList();
    }

    private static List<TimelineEvent> negotiated(String name) {
        return List.of(
                event(Kind.SUBMITTED, 10, name, "allreduce", "float32[2, 3]"),
                event(Kind.ANNOUNCED, 20, name, "allreduce", ""),
                event(Kind.STARTED, 40, name, "allreduce", name),
                during(Kind.ACTIVITY, 41, 45, name, "MPI_ALLREDUCE", ""),
                event(Kind.ENDED, 50, name, "", "float32[2, 3]"));
    }

    @Test
    void anOperationQueuesIsNegotiatedAndRuns() {
        rendering.add(1, negotiated("w"));

        TraceFile file = rendered();
        assertThat(phases(file, 1))
                .containsExactly(
                        "B QUEUE 10",
                        "E QUEUE 20",
                        "B NEGOTIATE_ALLREDUCE 20",
                        "E NEGOTIATE_ALLREDUCE 40",
                        "B ALLREDUCE 40",
                        "X MPI_ALLREDUCE 41",
                        "E ALLREDUCE 50");
        assertThat(file.nesting()).contains("MPI_ALLREDUCE in ALLREDUCE");
        JsonObject end = file.named("ALLREDUCE").skip(1).findFirst().orElseThrow();
        assertThat(end.getAsJsonObject("args")).hasToString("{\"dtype\":\"float32\",\"shape\":\"[2, 3]\"}");
        assertThat(TraceFile.micros(file.named("MPI_ALLREDUCE").findFirst().orElseThrow(), "dur"))
                .isEqualTo(4);
    }

    @Test
    void rankZeroShowsWhoWasReadyWhenAlsoBeforeItsOwnCall() {
        rendering.add(
                0,
                List.of(
                        event(Kind.READY, 5, "w", "allreduce", "2"),
                        event(Kind.SUBMITTED, 10, "w", "allreduce", "float32[1]"),
                        event(Kind.READY, 12, "w", "allreduce", "1"),
                        event(Kind.ANNOUNCED, 20, "w", "allreduce", ""),
                        event(Kind.READY, 20, "w", "allreduce", "0"),
                        event(Kind.STARTED, 30, "w", "allreduce", "w"),
                        event(Kind.ENDED, 40, "w", "", "float32[1]")));

        TraceFile file = rendered();
        assertThat(phases(file, 0))
                .containsExactly(
                        "B NEGOTIATE_ALLREDUCE 5",
                        "X 2 5",
                        "B QUEUE 10",
                        "X 1 12",
                        "E QUEUE 20",
                        "X 0 20",
                        "E NEGOTIATE_ALLREDUCE 30",
                        "B ALLREDUCE 30",
                        "E ALLREDUCE 40");
        assertThat(TraceFile.micros(file.named("2").findFirst().orElseThrow(), "dur"))
                .isZero();
    }

    @Test
    void aStepOfAStaticPlanWaitsForItsBatchAndIsNotNegotiated() {
        rendering.add(
                2,
                List.of(
                        event(Kind.SUBMITTED, 1, "w", "allreduce", "int8[]"),
                        event(Kind.PLANNED, 2, "w", "allreduce", ""),
                        event(Kind.STARTED, 9, "w", "allreduce", "v"),
                        event(Kind.ENDED, 11, "w", "", "int8[]")));

        TraceFile file = rendered();
        assertThat(phases(file, 2))
                .containsExactly(
                        "B QUEUE 1",
                        "E QUEUE 2",
                        "B WAIT_FOR_OTHER_TENSOR_DATA 2",
                        "E WAIT_FOR_OTHER_TENSOR_DATA 9",
                        "B ALLREDUCE 9",
                        "E ALLREDUCE 11");
        assertThat(file.named("ALLREDUCE").findFirst().orElseThrow().getAsJsonObject("args"))
                .hasToString("{\"in_batch_of\":\"v\"}");
    }

    @Test
    void leavingAStaticPlanTurnsWaitingIntoNegotiating() {
        rendering.add(
                0,
                List.of(
                        event(Kind.SUBMITTED, 1, "w", "allreduce", ""),
                        event(Kind.PLANNED, 2, "w", "allreduce", ""),
                        event(Kind.ANNOUNCED, 5, "w", "allreduce", ""),
                        event(Kind.ANNOUNCED, 6, "w", "allreduce", "")));

        assertThat(phases(rendered(), 0)).endsWith("E WAIT_FOR_OTHER_TENSOR_DATA 5", "B NEGOTIATE_ALLREDUCE 5");
    }

    @Test
    void aRefusedOperationEndsWithItsError() {
        rendering.add(
                0,
                List.of(
                        event(Kind.SUBMITTED, 1, "w", "allgather", "float32[1]"),
                        event(Kind.ANNOUNCED, 2, "w", "allgather", ""),
                        event(Kind.ENDED, 3, "w", "the \"ranks\" differ\n", "float32[1]")));

        JsonObject end =
                rendered().named("NEGOTIATE_ALLGATHER").skip(1).findFirst().orElseThrow();
        assertThat(end.getAsJsonObject("args").get("error").getAsString()).isEqualTo("the \"ranks\" differ\n");
    }

    @Test
    void everyRankIsAProcessAndEveryTensorOneOfItsThreads() {
        rendering.add(0, negotiated("w"));
        rendering.add(2, negotiated("w"));
        rendering.add(2, negotiated("v"));

        TraceFile file = rendered();
        assertThat(file.ranks()).containsExactly(0, 2);
        assertThat(file.named("process_name").map(TraceRenderingTest::argument))
                .containsExactly("rank 0 (left)", "rank 1 (left)", "rank 2 (right)");
        assertThat(file.named("process_sort_index")).hasSize(3);
        assertThat(file.named("thread_name").map(TraceRenderingTest::argument)).containsExactly("w", "w", "v");
        assertThat(file.named("thread_name").map(event -> event.get("tid").getAsInt()))
                .doesNotHaveDuplicates();
    }

    private static String argument(JsonObject event) {
        return event.getAsJsonObject("args").get("name").getAsString();
    }

    @Test
    void whereAClockWasSetBackALineStillRunsForwards() {
        rendering.add(1, List.of(event(Kind.SUBMITTED, 50, "w", "allreduce", ""), event(Kind.CYCLE, 51, "", "", "")));
        rendering.add(1, List.of(event(Kind.CYCLE, 47, "", "", ""), event(Kind.ANNOUNCED, 48, "w", "allreduce", "")));

        TraceFile file = rendered();
        assertThat(file.runningBackwards()).isEmpty();
        assertThat(phases(file, 1)).contains("E QUEUE 50");
    }

    @Test
    void waitingThreadsAndCyclesAndNotesAreShown() {
        rendering.add(0, List.of(during(Kind.WAITED, 10, 30, "w", "", "main"), event(Kind.CYCLE, 31, "", "", "")));
        rendering.add(1, List.of(event(Kind.CYCLE, 32, "", "", "")));

        TraceFile file = rendered();
        JsonObject wait = file.named("SYNCHRONIZE").findFirst().orElseThrow();
        assertThat(TraceFile.micros(wait, "dur")).isEqualTo(20);
        assertThat(wait.getAsJsonObject("args").get("tensor").getAsString()).isEqualTo("w");
        assertThat(file.named("thread_name").map(TraceRenderingTest::argument)).containsExactly("synchronize in main");
        assertThat(file.named("CYCLE_START").map(event -> TraceFile.string(event, "ph") + TraceFile.string(event, "s")))
                .containsExactly("ig", "ip");
    }

    /** The GPU works on the batch of one tensor while the next one is queued. */
    @Test
    void aGpuHasALineOfItsOwnAboveTheTensors() {
        rendering.add(1, negotiated("w"));
        rendering.add(
                1,
                List.of(
                        during(Kind.ON_DEVICE, 42, 60, "w", "MEMCPY_IN_FUSION_BUFFER", "cuda:1"),
                        during(Kind.ON_DEVICE, 60, 90, "w", "NCCL_ALLREDUCE", "cuda:1")));

        TraceFile file = rendered();
        assertThat(file.named("thread_name").map(TraceRenderingTest::argument)).containsExactly("w", "on cuda:1");
        assertThat(file.named("thread_sort_index")
                        .map(event ->
                                event.getAsJsonObject("args").get("sort_index").getAsInt()))
                .containsExactly(3, 2);
        JsonObject work = file.named("NCCL_ALLREDUCE").findFirst().orElseThrow();
        assertThat(TraceFile.micros(work, "ts")).isEqualTo(60);
        assertThat(TraceFile.micros(work, "dur")).isEqualTo(30);
        assertThat(work.getAsJsonObject("args").get("in_batch_of").getAsString())
                .isEqualTo("w");
        assertThat(file.nesting()).doesNotContain("NCCL_ALLREDUCE in ALLREDUCE");
    }

    @Test
    void aNameOfAnyCharactersFitsIntoABlock() {
        String wild = Stream.of("\"\\\u0001\u2028\ud83d\ude00")
                .map(text -> text.repeat(2000))
                .findFirst()
                .orElseThrow();
        rendering.add(
                0, List.of(event(Kind.SUBMITTED, 1, wild, "allreduce", ""), event(Kind.ENDED, 2, wild, wild, wild)));

        List<String> events = rendering.take();
        assertThat(events).allSatisfy(event -> assertThat(event.length()).isLessThan(TimelineFile.BLOCK - 2));
        assertThat(TraceFile.parse("[" + String.join(",", events) + "]").events())
                .isNotEmpty();
    }

    @Test
    void aMessageArrivesAsItWasSent() {
        TimelineMessage events = new TimelineMessage.Events(3, negotiated("größe"));

        assertThat(TimelineMessage.decode(events.encode())).isEqualTo(events);
        assertThat(TimelineMessage.decode(new TimelineMessage.Ping(-7).encode()))
                .isEqualTo(new TimelineMessage.Ping(-7));
        assertThat(TimelineMessage.decode(new TimelineMessage.Pong(1, -2, 3).encode()))
                .isEqualTo(new TimelineMessage.Pong(1, -2, 3));
        assertThat(TimelineMessage.decode(new TimelineMessage.End(4, 5).encode()))
                .isEqualTo(new TimelineMessage.End(4, 5));
    }
}
