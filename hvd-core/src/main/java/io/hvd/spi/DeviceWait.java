package io.hvd.spi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * How a thread waits for a device, which tells nobody that it has done its work, so that the thread has to look. The
 * end of the work is to be known within 50 microseconds, and the program's threads are to keep their cores.
 *
 * <p>While a thread of the program waits for a result, it leaves its core alone. The looking thread then takes that core: it looks
 * again at once, and between two looks it gives way to any thread that wants to run. If that costs it the core for long,
 * other threads compute there; it then naps for a while instead, since a thread that wakes up from a nap gets a core
 * sooner than one that has given way. While no thread waits, it naps as well.
 *
 * <p>Linux lets a timer end up to 50 microseconds too late unless a thread has asked for less, so the thread asks for
 * that before its first nap. One thread uses an object of this class.
 */
public final class DeviceWait {
    /** The time from a look to the next one; the look, the timer and waking up take some microseconds more. */
    private static final long NAP_NANOS = 25_000;
    /** Giving way for so long means that another thread has computed meanwhile. */
    private static final long LOST_CORE_NANOS = 500_000;
    /** How long the core is taken to be wanted by other threads after that. */
    private static final long CROWDED_NANOS = 20_000_000;

    private final Core core;
    private boolean isPrompt;
    private boolean isCrowded;
    private long crowdedSince;

    /** The core that the thread runs on. */
    interface Core {
        Core REAL = new Core() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void giveWay() {
                Thread.yield();
            }

            @Override
            public void wakePromptly() {
                askForPromptTimers();
            }
        };

        long nanoTime();

        /** Lets any thread run that wants this core. */
        void giveWay();

        /** Asks the system to end the naps of this thread on time. */
        void wakePromptly();
    }

    public DeviceWait() {
        this(Core.REAL);
    }

    DeviceWait(Core core) {
        this.core = core;
    }

    /**
     * Called after each look that has found the work unfinished.
     *
     * @param awaited whether a thread of the program waits for a result, and so needs no core
     * @return the nanoseconds to sleep before the next look; 0 to look again at once
     */
    public long nanosUntilNextLook(boolean awaited) {
        if (!isPrompt) {
            isPrompt = true;
            core.wakePromptly();
        }
        return awaited && !isCrowded() && keepsCore() ? 0 : NAP_NANOS;
    }

    private boolean isCrowded() {
        isCrowded = isCrowded && core.nanoTime() - crowdedSince < CROWDED_NANOS;
        return isCrowded;
    }

    private boolean keepsCore() {
        long begun = core.nanoTime();
        core.giveWay();
        long now = core.nanoTime();
        isCrowded = now - begun > LOST_CORE_NANOS;
        crowdedSince = now;
        return !isCrowded;
    }

    /** Sets this thread's timer slack to a microsecond. Where that is not possible, naps are longer, and nothing else is. */
    private static void askForPromptTimers() {
        try {
            Path self = Files.readSymbolicLink(Path.of("/proc/thread-self"));
            Path slack = Path.of("/proc", self.getFileName().toString(), "timerslack_ns");
            Files.writeString(slack, "1000", StandardOpenOption.WRITE);
        } catch (IOException | UnsupportedOperationException | SecurityException e) {
            // Another system than Linux, or a container that hides it.
        }
    }
}
