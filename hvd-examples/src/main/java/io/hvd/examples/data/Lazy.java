package io.hvd.examples.data;

import java.util.concurrent.Callable;

/** Computes a value when it is first used; ranks that are threads share it. */
public final class Lazy<T> implements Callable<T> {
    private Callable<T> source;
    private T value;

    public Lazy(Callable<T> source) {
        this.source = source;
    }

    @Override
    public synchronized T call() throws Exception {
        if (source != null) {
            value = source.call();
            source = null;
        }
        return value;
    }
}
