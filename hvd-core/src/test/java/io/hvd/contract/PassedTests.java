package io.hvd.contract;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** Counts tests that have passed since it was last asked. */
final class PassedTests implements TestWatcher {
    private static final AtomicInteger COUNT = new AtomicInteger();

    static int takeCount() {
        return COUNT.getAndSet(0);
    }

    @Override
    public void testSuccessful(ExtensionContext context) {
        COUNT.incrementAndGet();
    }
}
