package io.hvd.timeline;

import io.hvd.timeline.TimelineEvent.Kind;
import io.hvd.trace.Call;
import io.hvd.trace.TraceListener;
import java.util.ArrayList;
import java.util.List;

/** The events of this rank since they were last removed. Any thread adds events, the timeline's thread removes them. */
final class EventBuffer implements TraceListener {
    /** The most events, some hundred megabytes, if they are never removed. */
    private static final int MOST = 1 << 19;

    private final boolean cycles;
    private List<TimelineEvent> events = new ArrayList<>();
    private long dropped;

    /** @param cycles whether the engine's cycles are worth an event */
    EventBuffer(boolean cycles) {
        this.cycles = cycles;
    }

    synchronized List<TimelineEvent> drain() {
        List<TimelineEvent> drained = events;
        events = new ArrayList<>();
        return drained;
    }

    /** The number of events that were dropped because the buffer was full. */
    synchronized long dropped() {
        return dropped;
    }

    @Override
    public void submitted(Call call) {
        Call.Operation operation = call.operation();
        add(of(Kind.SUBMITTED, call, call.submittedNanos(), operation.kind(), operation.detail()));
    }

    @Override
    public void announced(Call call, boolean negotiated, long nanos) {
        add(of(
                negotiated ? Kind.ANNOUNCED : Kind.PLANNED,
                call,
                nanos,
                call.operation().kind(),
                ""));
    }

    @Override
    public void ready(Arrival arrival, long nanos) {
        String rank = String.valueOf(arrival.rank());
        add(new TimelineEvent(Kind.READY, nanos, nanos, arrival.processSet(), arrival.name(), arrival.kind(), rank));
    }

    @Override
    public void started(Call call, Call batch, long nanos) {
        add(of(
                Kind.STARTED,
                call,
                nanos,
                call.operation().kind(),
                batch.operation().name()));
    }

    @Override
    public void activity(Call batch, String name, long from, long to) {
        Call.Operation operation = batch.operation();
        add(new TimelineEvent(Kind.ACTIVITY, from, to, operation.processSet(), operation.name(), name, ""));
    }

    @Override
    public void onDevice(Call batch, OnDevice work) {
        Call.Operation operation = batch.operation();
        add(new TimelineEvent(
                Kind.ON_DEVICE,
                work.fromNanos(),
                work.toNanos(),
                operation.processSet(),
                operation.name(),
                work.name(),
                work.device()));
    }

    @Override
    public void ended(Call call) {
        add(of(
                Kind.ENDED,
                call,
                call.endedNanos(),
                call.error(),
                call.operation().detail()));
    }

    @Override
    public void waited(int processSet, String name, long from, long to) {
        add(new TimelineEvent(
                Kind.WAITED,
                from,
                to,
                processSet,
                name,
                "",
                Thread.currentThread().getName()));
    }

    @Override
    public void cycle(long nanos) {
        if (cycles) {
            add(TimelineEvent.at(Kind.CYCLE, nanos));
        }
    }

    @Override
    public void step(long nanos) {
        add(TimelineEvent.at(Kind.STEP, nanos));
    }

    /** The garbage collector has stopped this process. */
    void paused(long from, long to, String cause) {
        add(new TimelineEvent(Kind.PAUSED, from, to, 0, "", cause, ""));
    }

    private static TimelineEvent of(Kind kind, Call call, long nanos, String what, String text) {
        Call.Operation operation = call.operation();
        return new TimelineEvent(kind, nanos, nanos, operation.processSet(), operation.name(), what, text);
    }

    private synchronized void add(TimelineEvent event) {
        if (events.size() < MOST) {
            events.add(event);
        } else {
            dropped++;
        }
    }
}
