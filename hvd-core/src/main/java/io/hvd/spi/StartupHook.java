package io.hvd.spi;

/**
 * Runs once in every process at the start of {@code Hvd.init()}, found by {@link java.util.ServiceLoader};
 * for libraries that must be made ready before anybody touches them.
 */
public interface StartupHook {
    void beforeInit();
}
