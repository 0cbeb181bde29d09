package io.hvd.monitor;

/** Known long work of one rank, from {@link Monitor#phase} to {@link #close()}, which any thread may call, more than once. */
@FunctionalInterface
public interface Phase extends AutoCloseable {
    @Override
    void close();
}
