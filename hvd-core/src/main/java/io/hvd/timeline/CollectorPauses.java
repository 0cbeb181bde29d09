package io.hvd.timeline;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import javax.management.ListenerNotFoundException;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/**
 * Adds the pauses of this JVM's garbage collector to the events of a rank. The JVM reports a pause when it is over, in
 * milliseconds of a clock of its own. The smallest delay between the end of a pause and its report that was ever seen stands for
 * the difference between that clock and {@link System#nanoTime()}. The JVM calls it on one thread.
 */
final class CollectorPauses implements NotificationListener, AutoCloseable {
    /** The action that concurrent collectors report besides their pauses; the program runs meanwhile. */
    private static final String NO_PAUSE = "end of GC cycle";

    private static final long NANOS = 1_000_000;

    private final EventBuffer events;
    private long difference = Long.MAX_VALUE;

    private CollectorPauses(EventBuffer events) {
        this.events = events;
    }

    static CollectorPauses into(EventBuffer events) {
        var pauses = new CollectorPauses(events);
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector instanceof NotificationEmitter emitter) {
                emitter.addNotificationListener(pauses, null, null);
            }
        }
        return pauses;
    }

    @Override
    public void handleNotification(Notification notification, Object handback) {
        long now = System.nanoTime();
        if (notification.getUserData() instanceof CompositeData told
                && told.get("gcInfo") instanceof CompositeData times
                && !NO_PAUSE.equals(told.get("gcAction"))) {
            reported(now, (Long) times.get("startTime"), (Long) times.get("endTime"), (String) told.get("gcCause"));
        }
    }

    /** @param now when the report came; the other times are the JVM's */
    void reported(long now, long fromMillis, long toMillis, String cause) {
        difference = Math.min(difference, now - toMillis * NANOS);
        events.paused(fromMillis * NANOS + difference, toMillis * NANOS + difference, cause);
    }

    @Override
    public void close() {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector instanceof NotificationEmitter emitter) {
                try {
                    emitter.removeNotificationListener(this);
                } catch (ListenerNotFoundException e) {
                    return; // closed before
                }
            }
        }
    }
}
