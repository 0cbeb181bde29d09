package io.hvd.testing;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.util.Arrays;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs JUnit test classes inside every rank of a job, all ranks the same tests in the same order. The
 * first failure ends the job: the other ranks would wait for this one's collectives.
 */
public final class InsideMpirun {
    private InsideMpirun() {}

    public static void main(String[] classNames) throws Exception {
        Counter counter = new Counter();
        try (HvdContext hvd = Hvd.init()) {
            LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
                    .configurationParameter(
                            "junit.jupiter.testmethod.order.default", "org.junit.jupiter.api.MethodOrderer$MethodName");
            for (String name : classNames) {
                request.selectors(selectClass(Class.forName(name)));
            }
            LauncherDiscoveryRequest tests = request.build();
            LauncherFactory.create().execute(tests, counter);
            if (hvd.rank() == 0) {
                System.out.printf(
                        "TESTS backend=mpi ranks=%d passed=%d classes=%s%n",
                        hvd.size(), counter.passed, Arrays.toString(classNames));
            }
        }
    }

    private static final class Counter implements TestExecutionListener {
        private int passed;

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                passed += test.isTest() ? 1 : 0;
                return;
            }
            System.err.println("FAILED " + test.getDisplayName() + " on rank " + Hvd.rank());
            result.getThrowable().ifPresent(Throwable::printStackTrace);
            System.exit(1);
        }
    }
}
