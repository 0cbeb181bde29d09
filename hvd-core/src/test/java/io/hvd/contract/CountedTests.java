package io.hvd.contract;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** Counts tests that have passed, and those that had too few ranks. */
final class CountedTests implements TestWatcher {
    @Override
    public void testSuccessful(ExtensionContext context) {
        TestCounts.add(1, 0);
    }

    @Override
    public void testAborted(ExtensionContext context, Throwable cause) {
        TestCounts.add(0, 1);
    }
}
