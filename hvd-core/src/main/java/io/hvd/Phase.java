package io.hvd;

/** Known long work of one rank, from {@link HvdContext#phase} to {@link #close()}, which any thread may call, more than once. */
@FunctionalInterface
public interface Phase extends AutoCloseable {
    @Override
    void close();
}
