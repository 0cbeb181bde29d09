package io.hvd.host.local;

import io.hvd.host.local.LocalHub.Crossing;
import io.hvd.kernel.Converter;
import io.hvd.spi.Activities;
import io.hvd.spi.PointToPoint;
import io.hvd.tensor.Tensor;

/** Tensors that go from one rank of a JVM to another: the receiver copies the sender's while the sender waits. */
public final class ThreadPairs implements PointToPoint {
    private final LocalHub hub;
    private final int place;
    private final Converter converter = new Converter();

    /** @param place this rank's among those of the hub */
    public ThreadPairs(LocalHub hub, int place) {
        this.hub = hub;
        this.place = place;
    }

    /** Reports nothing: a transfer between two threads is one copy. */
    @Override
    public void report(Activities to) {
        // There are no activities to tell apart.
    }

    @Override
    public void send(Tensor tensor, int to) {
        Crossing crossing = hub.crossing(place, to);
        crossing.tensor = tensor;
        crossing.meeting.meet();
        crossing.meeting.meet();
    }

    @Override
    public void receive(Tensor tensor, int from) {
        Crossing crossing = hub.crossing(from, place);
        crossing.meeting.meet();
        converter.copy(crossing.tensor, 0, tensor, 0, tensor.elements());
        crossing.meeting.meet();
    }

    /** Does nothing: the hub releases the waiting threads when a rank is lost. */
    @Override
    public void abandon() {
        // No work goes on after a call has returned.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
