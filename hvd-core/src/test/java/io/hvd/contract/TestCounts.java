package io.hvd.contract;

import java.util.concurrent.atomic.AtomicReference;

/**
 * The results of the tests since the last question.
 *
 * @param passed ran to their end
 * @param skipped had nothing to say about so few ranks
 */
record TestCounts(int passed, int skipped) {
    private static final TestCounts NONE = new TestCounts(0, 0);
    private static final AtomicReference<TestCounts> NOW = new AtomicReference<>(NONE);

    static void add(int passed, int skipped) {
        NOW.updateAndGet(now -> new TestCounts(now.passed + passed, now.skipped + skipped));
    }

    static TestCounts take() {
        return NOW.getAndSet(NONE);
    }

    @Override
    public String toString() {
        return "passed=" + passed + " skipped=" + skipped;
    }
}
