package io.hvd.train.checkpoint;

import io.hvd.log.HvdLogger;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Listens for SIGTERM, which Slurm sends some time before it ends a job ({@code --signal=TERM@60}). From the first object that is made until the last one is closed, the signal does not end this process: the training is to end by itself.
 *
 * <p>Java's one interface for signals is {@code sun.misc.Signal}, of which the compiler does not want to know; so it is
 * called by its name. A JVM without it, or with {@code -Xrs}, ends at the signal as ever.
 */
public final class TerminationSignal implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(TerminationSignal.class);
    private static final String NAME = "TERM";

    /** The signals that are open; a process has one handler, and perhaps several ranks as threads. */
    private static final Set<TerminationSignal> OPEN = ConcurrentHashMap.newKeySet();

    /** The handler before; null while nobody listens. */
    private static Object before;

    private volatile boolean arrived;
    private volatile boolean sent;

    private TerminationSignal() {}

    /** Begins to listen. */
    public static TerminationSignal listen() {
        TerminationSignal signal = new TerminationSignal();
        synchronized (OPEN) {
            if (OPEN.isEmpty()) {
                install();
            }
            OPEN.add(signal);
        }
        return signal;
    }

    /** Whether the signal has come, or {@link #raise} was called. */
    public boolean hasArrived() {
        return arrived;
    }

    /** Whether the system has sent the signal to this process. */
    boolean wasSent() {
        return sent;
    }

    private void hear() {
        sent = true;
        arrived = true;
    }

    /** Ends the training as the signal does, for a program that learns by other means that its time is over. Any thread. */
    public void raise() {
        arrived = true;
    }

    /** Gives the signal back to what had it before, if no other one listens. */
    @Override
    public void close() {
        synchronized (OPEN) {
            OPEN.remove(this);
            if (OPEN.isEmpty() && before != null) {
                try {
                    handle(before);
                } catch (ReflectiveOperationException | IllegalArgumentException e) {
                    LOG.warn("SIG{} is not given back", NAME, e);
                }
                before = null;
            }
        }
    }

    private static void install() {
        try {
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            before = handle(Proxy.newProxyInstance(
                    TerminationSignal.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getName().equals("handle")) {
                            LOG.notice("SIG{} has come: the training ends after a checkpoint", NAME);
                            OPEN.forEach(TerminationSignal::hear);
                        }
                        return null;
                    }));
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            LOG.warn("SIG{} will end this process at once, without a checkpoint: {}", NAME, e.toString());
        }
    }

    private static Object handle(Object handler) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Object known = signal.getConstructor(String.class).newInstance(NAME);
        return signal.getMethod("handle", signal, Class.forName("sun.misc.SignalHandler"))
                .invoke(null, known, handler);
    }
}
