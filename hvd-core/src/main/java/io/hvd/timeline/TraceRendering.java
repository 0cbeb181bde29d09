package io.hvd.timeline;

import io.hvd.file.JsonObject;
import io.hvd.timeline.StepSplit.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Turns events into Chrome's trace format, as Perfetto and chrome://tracing show it.
 *
 * <p>Each rank is shown as a process, and each tensor as a thread of it. Horovod makes every tensor a process, which is
 * enough for the one rank that it shows; with four ranks and sixty tensors that would be 240 groups.
 * Here there are four groups, one below the other. A group has the steps and the garbage collector first, then the threads
 * that wait, then the GPUs, then the tensors in the order in which the rank used them. If a batch has several
 * tensors, the line of the first one shows the activities of the data plane, and the other lines name this tensor.
 *
 * <pre>
 * QUEUE                          from the call until the engine took it up
 * NEGOTIATE_ALLREDUCE            until the ranks have agreed; rank 0 marks when each rank was ready
 * WAIT_FOR_OTHER_TENSOR_DATA     instead, in a static plan: until the rest of the batch is there
 * ALLREDUCE                      with MEMCPY_IN_FUSION_BUFFER, MPI_ALLREDUCE and so on inside
 * SYNCHRONIZE                    on the line of the thread that waited
 * GC_PAUSE                       on the line of the garbage collector: the whole process stood still
 * NCCL_ALLREDUCE and so on       on the line of a GPU: from its start to its end on the device
 * </pre>
 */
final class TraceRendering {
    private static final int FIRST_TID = 1000;
    private static final String QUEUE = "QUEUE";
    private static final String WAIT = "WAIT_FOR_OTHER_TENSOR_DATA";
    private static final String NEGOTIATE = "NEGOTIATE_";
    private static final int STEPS = 0;
    private static final int WAITING_THREADS = 1;
    private static final int GPUS = 2;
    private static final int TENSORS = 3;

    private final long start;
    private final List<String> out = new ArrayList<>();
    private final List<Map<Object, TraceTrack>> tracks;
    /** The marks of the engines' cycles, by rank; they have no line of their own. */
    private final List<TraceTrack> cycles;

    private int nextTid = FIRST_TID;

    /**
     * @param start the time of rank 0's clock that is the file's zero
     * @param hosts the ranks' hosts, by rank
     */
    TraceRendering(long start, List<String> hosts) {
        this.start = start;
        this.tracks = IntStream.range(0, hosts.size())
                .mapToObj(rank -> (Map<Object, TraceTrack>) new HashMap<Object, TraceTrack>())
                .toList();
        this.cycles = IntStream.range(0, hosts.size())
                .mapToObj(rank -> new TraceTrack(pid(rank), pid(rank), out))
                .toList();
        for (int rank = 0; rank < hosts.size(); rank++) {
            String name = "rank " + rank + " (" + hosts.get(rank) + ")";
            out.add(metadata("process_name", rank, TraceJson.object().put("name", name))
                    .toString());
            out.add(metadata("process_sort_index", rank, TraceJson.object().put("sort_index", rank))
                    .toString());
        }
    }

    /** An event whose text gives the date and time of the file's zero. */
    static String start(long epochMicros, int ranks) {
        JsonObject args = TraceJson.object()
                .put("start_time_since_epoch_in_micros", epochMicros)
                .put("ranks", ranks);
        return metadata("start_time", 0, args).toString();
    }

    /** A line of text for the reader of the file. */
    static String note(String name, String text) {
        return metadata(name, 0, TraceJson.object().put("text", text)).toString();
    }

    /** Adds the events of a rank, in its order. */
    void add(int rank, List<TimelineEvent> events) {
        events.forEach(event -> add(rank, event));
    }

    /** Adds a step that all ranks have finished. */
    void add(Step step) {
        step.ranks().forEach(share -> {
            JsonObject args = TraceJson.object()
                    .putThousandths("compute_us", share.computeNanos())
                    .putThousandths("exposed_communication_us", share.exposedNanos())
                    .putThousandths("waiting_us", share.waitingNanos());
            step.lateRank().ifPresent(late -> args.put("late_rank", late));
            track(share.rank(), "steps", "steps", STEPS)
                    .slice("STEP " + step.number(), share.from() - start, share.to() - start, args);
        });
    }

    /** The JSON objects since the last call. */
    List<String> take() {
        List<String> taken = List.copyOf(out);
        out.clear();
        return taken;
    }

    private void add(int rank, TimelineEvent event) {
        long nanos = Math.max(0, event.from() - start);
        switch (event.kind()) {
            case SUBMITTED -> tensor(rank, event).begin(QUEUE, nanos, null);
            case ANNOUNCED -> announced(tensor(rank, event), event, nanos);
            case PLANNED -> planned(tensor(rank, event), nanos);
            case READY -> ready(tensor(rank, event), event, nanos);
            case STARTED -> started(tensor(rank, event), event, nanos);
            case ACTIVITY -> tensor(rank, event).slice(event.label(), nanos, event.to() - start, null);
            case ON_DEVICE -> onDevice(rank, event, nanos);
            case ENDED -> ended(tensor(rank, event), event, nanos);
            case WAITED ->
                track(rank, event.detail(), "synchronize in " + event.detail(), WAITING_THREADS)
                        .slice(
                                "SYNCHRONIZE",
                                nanos,
                                event.to() - start,
                                TraceJson.object().put("tensor", event.name()));
            case PAUSED ->
                track(rank, "collector", "garbage collector", STEPS)
                        .slice(
                                "GC_PAUSE",
                                nanos,
                                event.to() - start,
                                TraceJson.object().put("cause", event.label()));
            // A line through all groups for rank 0, through its own group for another rank.
            case CYCLE -> cycles.get(rank).mark("CYCLE_START", rank == 0 ? "g" : "p", nanos);
            case STEP -> {} // shown when all of its parts are known
        }
    }

    private void onDevice(int rank, TimelineEvent event, long nanos) {
        JsonObject args = TraceJson.object().put("in_batch_of", event.name());
        track(rank, new Gpu(event.detail()), "on " + event.detail(), GPUS)
                .slice(event.label(), nanos, event.to() - start, args);
    }

    private static void announced(TraceTrack track, TimelineEvent event, long nanos) {
        leave(track, nanos);
        if (!track.isOpen()) {
            track.begin(NEGOTIATE + operation(event), nanos, null);
        }
    }

    private static void planned(TraceTrack track, long nanos) {
        leave(track, nanos);
        track.begin(WAIT, nanos, null);
    }

    /** Ends the queueing of an operation; another rank may have begun to negotiate it already. */
    private static void leave(TraceTrack track, long nanos) {
        if (track.isOpen(QUEUE) || track.isOpen(WAIT)) {
            track.end(nanos);
        }
    }

    private static void ready(TraceTrack track, TimelineEvent event, long nanos) {
        if (!track.isOpen()) {
            track.begin(NEGOTIATE + operation(event), nanos, null);
        }
        track.slice(event.detail(), nanos, nanos, null);
    }

    private static void started(TraceTrack track, TimelineEvent event, long nanos) {
        boolean first = event.detail().equals(event.name());
        track.endAll(nanos, null);
        track.begin(operation(event), nanos, first ? null : TraceJson.object().put("in_batch_of", event.detail()));
    }

    private static String operation(TimelineEvent event) {
        return event.label().toUpperCase(Locale.ROOT);
    }

    private static void ended(TraceTrack track, TimelineEvent event, long nanos) {
        int shape = Math.max(0, event.detail().indexOf('['));
        JsonObject args = TraceJson.object()
                .put("dtype", event.detail().substring(0, shape))
                .put("shape", event.detail().substring(shape));
        track.endAll(nanos, event.label().isEmpty() ? args : args.put("error", event.label()));
    }

    private record Tensor(int set, String name) {}

    private record Gpu(String name) {}

    private TraceTrack tensor(int rank, TimelineEvent event) {
        String name =
                event.processSet() == 0 ? event.name() : event.name() + " (process set " + event.processSet() + ")";
        return track(rank, new Tensor(event.processSet(), event.name()), name, TENSORS);
    }

    private TraceTrack track(int rank, Object key, String name, int place) {
        return tracks.get(rank).computeIfAbsent(key, fresh -> {
            int tid = nextTid++;
            // Ranks may come to their tensors in different orders; a viewer sorts equal places by tid.
            out.add(metadata("thread_name", rank, TraceJson.object().put("name", name))
                    .put("tid", tid)
                    .toString());
            out.add(metadata("thread_sort_index", rank, TraceJson.object().put("sort_index", place))
                    .put("tid", tid)
                    .toString());
            return new TraceTrack(pid(rank), tid, out);
        });
    }

    private static JsonObject metadata(String name, int rank, JsonObject args) {
        return TraceJson.object()
                .put("name", name)
                .put("ph", "M")
                .put("pid", pid(rank))
                .put("args", args);
    }

    /** The process number of a rank, which is never 0 because viewers reserve 0 for the operating system. */
    private static int pid(int rank) {
        return rank + 1;
    }
}
