package io.hvd.spi;

/**
 * Runs once in every process during {@code Hvd.init()}, for libraries that must be prepared before any code uses them. {@link
 * java.util.ServiceLoader} finds it. Where a launcher has started the process, a thread of its own runs it while the back end
 * starts; {@code Hvd.init()} returns only afterwards. If it throws, {@code Hvd.init()} throws on all ranks.
 *
 * <p>A hook must not call {@code Hvd}, whose init waits for it. What it binds to its thread does not reach the program's threads.
 */
public interface StartupHook {
    void beforeInit();
}
