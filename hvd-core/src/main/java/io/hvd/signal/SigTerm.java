package io.hvd.signal;

import io.hvd.log.HvdLogger;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * SIGTERM, which Slurm and clouds send some time before they end a process. From the first listener on until the last one is
 * closed, the signal does not end this process.
 *
 * <p>Java's one interface for signals is {@code sun.misc.Signal}, of which the compiler does not want to know; so it is
 * called by its name. A JVM without it, or with {@code -Xrs}, ends at the signal as ever.
 */
public final class SigTerm implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(SigTerm.class);
    private static final String NAME = "TERM";

    /** Those that listen; a process has one handler, and perhaps several ranks as threads. */
    private static final Set<SigTerm> OPEN = ConcurrentHashMap.newKeySet();

    /** The handler before; null while nobody listens. */
    private static Object before;

    private final Runnable heard;

    private SigTerm(Runnable heard) {
        this.heard = heard;
    }

    /** Begins to listen. @param heard is called at each signal, on a thread of the JVM's */
    public static SigTerm listen(Runnable heard) {
        SigTerm one = new SigTerm(heard);
        synchronized (OPEN) {
            if (OPEN.isEmpty()) {
                install();
            }
            OPEN.add(one);
        }
        return one;
    }

    /** Gives the signal back to what had it before, if nobody else listens. */
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

    /** Sends the signal to this process, which ends if nobody listens any more. */
    public static void raise() {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            signal.getMethod("raise", signal).invoke(null, named(signal));
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            LOG.warn("SIG{} cannot be sent", NAME, e);
        }
    }

    private static void install() {
        try {
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            before = handle(Proxy.newProxyInstance(
                    SigTerm.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getName().equals("handle")) {
                            OPEN.forEach(one -> one.heard.run());
                        }
                        return null;
                    }));
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            LOG.warn("SIG{} will end this process at once: {}", NAME, e.toString());
        }
    }

    private static Object handle(Object handler) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        return signal.getMethod("handle", signal, Class.forName("sun.misc.SignalHandler"))
                .invoke(null, named(signal), handler);
    }

    private static Object named(Class<?> signal) throws ReflectiveOperationException {
        return signal.getConstructor(String.class).newInstance(NAME);
    }
}
