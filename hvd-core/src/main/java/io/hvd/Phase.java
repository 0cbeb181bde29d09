package io.hvd;

/**
 * Announced long work of one rank, which begins with {@link HvdContext#phase}. Any thread may close it, even
 * repeatedly.
 */
@FunctionalInterface
public interface Phase extends AutoCloseable {
    @Override
    void close();
}
