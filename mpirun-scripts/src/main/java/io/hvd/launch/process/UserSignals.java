package io.hvd.launch.process;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.function.Consumer;

/**
 * SIGUSR1 and SIGUSR2 to this process, which would end it. Their one interface in Java is {@code sun.misc.Signal}, of
 * which the compiler does not want to know; so it is called by its name.
 */
public final class UserSignals {

    private static final List<String> NAMES = List.of("USR1", "USR2");

    private UserSignals() {}

    /** @param taker gets the name of each signal that comes, on a thread of the JVM's */
    public static void handTo(Consumer<String> taker) {
        try {
            for (String name : NAMES) {
                handle(name, taker);
            }
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            return; // another JVM: the signal ends this process, and JobWatch the job
        }
    }

    private static void handle(String name, Consumer<String> taker) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object handing = Proxy.newProxyInstance(
                UserSignals.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                    taker.accept(name);
                    return null;
                });
        Object known = signal.getConstructor(String.class).newInstance(name);
        signal.getMethod("handle", signal, handler).invoke(null, known, handing);
    }
}
