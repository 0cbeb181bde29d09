package io.hvd.transport.nccl;

/**
 * Converts times by a device's clock to those of {@link System#nanoTime()}. CUDA tells how much later one event was
 * than another, but not when. The host knows between which two looks each event was reached, so the difference of
 * the two clocks lies between two bounds. The bounds of many events together leave little room, which grows again as
 * the clocks drift apart.
 */
final class DeviceClock {
    /** The most by which two clocks drift apart. The drift of a crystal is a few dozen millionths. */
    private static final long MOST_MILLIONTHS = 200;

    /** The bounds of the host's time minus the device's. */
    private long least;

    private long most;
    private long boundedAt;
    private boolean isBounded;

    /** An event that was reached at a time by the device's clock, and between two times by the host's. */
    void reached(long deviceNanos, long notBefore, long notAfter) {
        long drift = isBounded ? (notAfter - boundedAt) * MOST_MILLIONTHS / 1_000_000 : 0;
        long low = Math.max(notBefore - deviceNanos, least - drift);
        long high = Math.min(notAfter - deviceNanos, most + drift);
        boolean contradiction = !isBounded || low > high;
        least = contradiction ? notBefore - deviceNanos : low;
        most = contradiction ? notAfter - deviceNanos : high;
        boundedAt = notAfter;
        isBounded = true;
    }

    /** The host's time, after an event has been reached. */
    long hostNanos(long deviceNanos) {
        return deviceNanos + least + (most - least) / 2;
    }
}
