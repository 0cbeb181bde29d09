package io.hvd.timeline;

import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The role of every rank except rank 0: it compares its clock with rank 0's and sends its events, in rank 0's time. */
final class EventReporter implements TimelineRole {
    private static final int EXCHANGES = 8;
    /** The time between two comparisons; clocks drift apart by some microseconds per second. */
    private static final long COMPARE_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** The most events of a message, which keeps it well below the size at which a socket's buffers make it slow. */
    private static final int MOST_EVENTS = 4096;

    private final ControlChannel channel;
    private final LongSupplier clock;
    private final List<PingPong> exchanges = new ArrayList<>();
    private EventBuffer events = new EventBuffer(false);
    private int session;
    private boolean active;
    private boolean compared;
    private long offset;
    private long comparedAt;
    private boolean lost;
    private CompletableFuture<Void> done;

    /** @param clock that of the events, in nanoseconds */
    EventReporter(ControlChannel channel, LongSupplier clock) {
        this.clock = clock;
        this.channel = channel;
    }

    @Override
    public void begin(int number, Path file, EventBuffer from) {
        session = number;
        events = from;
        active = true;
        compare();
    }

    @Override
    public void end(CompletableFuture<Void> told) {
        done = told;
    }

    @Override
    public boolean isBusy() {
        return active || done != null;
    }

    @Override
    public void turn() {
        if (lost) {
            active = false;
        } else if (active && compared) {
            report();
        }
        if (done != null && !active && (lost || channel.isFlushed())) {
            done.complete(null);
            done = null;
        }
    }

    /** Sends events, unless the last message is still under way: then rank 0 is busy, and the events can wait. */
    private void report() {
        if (channel.isFlushed()) {
            List<TimelineEvent> all = events.drain();
            for (int from = 0; from < all.size(); from += MOST_EVENTS) {
                List<TimelineEvent> some = all.subList(from, Math.min(all.size(), from + MOST_EVENTS));
                List<TimelineEvent> shifted =
                        some.stream().map(event -> event.shifted(offset)).toList();
                channel.send(0, new TimelineMessage.Events(session, shifted).encode());
            }
            if (done != null) {
                channel.send(0, new TimelineMessage.End(session, events.dropped()).encode());
                active = false;
            }
        }
        if (active && exchanges.isEmpty() && clock.getAsLong() - comparedAt > COMPARE_NANOS) {
            compare();
        }
    }

    private void compare() {
        exchanges.clear();
        ping();
    }

    private void ping() {
        channel.send(0, new TimelineMessage.Ping(clock.getAsLong()).encode());
    }

    @Override
    public void message(int fromRank, ByteBuffer message) {
        long now = clock.getAsLong();
        if (TimelineMessage.decode(message) instanceof TimelineMessage.Pong pong) {
            exchanges.add(new PingPong(pong.sent(), pong.heard(), pong.answered(), now));
            if (exchanges.size() < EXCHANGES) {
                ping();
                return;
            }
            offset = PingPong.offset(exchanges);
            exchanges.clear();
            compared = true;
            comparedAt = now;
        }
    }

    @Override
    public void lost(int rank, String why) {
        lost = true;
    }

    @Override
    public void fail(String why) {
        lost = true;
    }
}
