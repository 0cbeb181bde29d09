package io.hvd.transport.nccl;

import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.spi.Activities;
import io.hvd.tensor.Device;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Measures when a GPU works on the operations that are queued on its stream, for the timeline: CUDA events that note
 * the time lie before the work, between its parts and behind it. While no timeline is written, there are no such
 * events. Only the communication thread uses this class.
 */
final class DeviceTimes {
    /** An event's distance from the anchor is a float of milliseconds, which becomes too coarse after this time. */
    private static final double FARTHEST_MILLIS = 10_000;

    private static final double NANOS_PER_MILLI = 1e6;

    private final CudaStream stream;
    private final Device device;
    private final DeviceClock clock = new DeviceClock();
    /** The operations that the GPU has not finished as far as is known, in order. */
    private final Deque<Span> unfinished = new ArrayDeque<>();
    /** The operation that is being queued; null if its times are not wanted. */
    private Span queued;
    /** The event from which times are counted; null before the first operation. */
    private CudaEvent anchor;

    private double anchorNanos;

    DeviceTimes(CudaStream stream, Device device) {
        this.stream = stream;
        this.device = device;
    }

    /** The end of a part of an operation. */
    private record Mark(String name, CudaEvent event) {}

    /** An operation on the stream. */
    private static final class Span {
        final String name;
        final Activities.Later report;
        final CudaEvent start;
        final List<Mark> marks = new ArrayList<>();
        /** A time at which the end was not reached yet. */
        long notBefore;

        Span(String name, Activities.Later report, CudaEvent start) {
            this.name = name;
            this.report = report;
            this.start = start;
        }

        CudaEvent end() {
            return marks.get(marks.size() - 1).event();
        }
    }

    /**
     * Work of an operation is going to be queued; everything that it waits for is queued already.
     *
     * @param report where the times go; null if nobody wants them
     */
    void begin(String name, Activities.Later report) {
        look();
        queued = report == null ? null : new Span(name, report, stream.recordTimedEvent());
    }

    /** Marks the work that was queued since the last mark as NCCL's part of the operation. */
    void markCollective() {
        if (queued != null) {
            mark(queued.name);
        }
    }

    /** Gives a name to what has been queued since the last mark. */
    void mark(String part) {
        if (queued != null) {
            queued.notBefore = System.nanoTime(); // before the event is there, so it cannot have been reached
            queued.marks.add(new Mark(part, stream.recordTimedEvent()));
        }
    }

    /** All work of the operation is queued; if nothing was marked, it is one part. */
    void end() {
        if (queued == null) {
            return;
        }
        if (queued.marks.isEmpty()) {
            markCollective();
        }
        unfinished.add(queued);
        queued = null;
    }

    /** Reports the operations that the GPU has finished. */
    void look() {
        while (!unfinished.isEmpty()) {
            Span first = unfinished.peek();
            long asked = System.nanoTime();
            if (!first.end().isReached()) {
                first.notBefore = asked;
                return;
            }
            unfinished.remove();
            report(first, System.nanoTime());
        }
    }

    private void report(Span span, long now) {
        if (anchor == null) {
            anchor = span.start;
        }
        clock.reached(deviceNanos(span.end()), span.notBefore, now);
        long from = hostNanos(span.start);
        for (Mark mark : span.marks) {
            long to = hostNanos(mark.event());
            span.report.happened(device.toString(), mark.name(), from, to);
            from = to;
        }
        release(span);
    }

    private long hostNanos(CudaEvent event) {
        return clock.hostNanos(deviceNanos(event));
    }

    private long deviceNanos(CudaEvent event) {
        return (long) (anchorNanos + event.millisSince(anchor) * NANOS_PER_MILLI);
    }

    /** Destroys the events of a span, except the anchor, which the span's end may become. */
    private void release(Span span) {
        CudaEvent before = anchor;
        double distance = span.end().millisSince(anchor);
        if (distance > FARTHEST_MILLIS) {
            anchorNanos += distance * NANOS_PER_MILLI;
            anchor = span.end();
        }
        List<CudaEvent> events =
                new ArrayList<>(span.marks.stream().map(Mark::event).toList());
        events.add(span.start);
        if (before != anchor) {
            events.add(before);
        }
        events.stream().distinct().filter(event -> event != anchor).forEach(CudaEvent::close);
    }

    /** Reports what is left, when the GPU has done all its work, and destroys all events. */
    void close() {
        look();
        if (anchor != null) {
            anchor.close();
            anchor = null;
        }
    }
}
