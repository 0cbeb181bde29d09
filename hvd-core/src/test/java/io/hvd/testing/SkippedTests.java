package io.hvd.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes down every skip of Maven's tests in the module's {@code target/skipped.txt}, for test.sh: when (in seconds), how
 * many tests, and why. Maven itself reports nothing at all where a class is skipped as a whole. A class of tests with
 * parameters counts each method once.
 */
public final class SkippedTests implements TestExecutionListener {
    private static final Path FILE = Path.of("target", "skipped.txt");
    private static final boolean IN_MAVEN = System.getProperty("surefire.test.class.path") != null;

    private TestPlan plan;

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        write(test, reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
            write(test, result.getThrowable().map(Throwable::getMessage).orElse("an assumption"));
        }
    }

    private void write(TestIdentifier skipped, String reason) {
        if (!IN_MAVEN) {
            return;
        }
        long below = plan.getDescendants(skipped).stream()
                .filter(one -> plan.getChildren(one).isEmpty())
                .count();
        String why = reason.lines().findFirst().orElse("").replaceFirst("^Assumption failed: ", "");
        String line = System.currentTimeMillis() / 1_000 + "\t" + Math.max(1, below) + "\t" + why + "\n";
        try {
            Files.createDirectories(FILE.getParent());
            Files.writeString(FILE, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
