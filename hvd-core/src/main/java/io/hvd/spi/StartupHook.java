package io.hvd.spi;

/**
 * Runs once in every process at the start of {@code Hvd.init()}, for libraries that must be prepared before any code
 * uses them. {@link java.util.ServiceLoader} finds it.
 */
public interface StartupHook {
    void beforeInit();
}
