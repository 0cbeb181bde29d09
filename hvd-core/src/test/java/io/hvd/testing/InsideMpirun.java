package io.hvd.testing;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.util.Arrays;
import java.util.Locale;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs JUnit test classes inside every process of a job, all processes the same tests in the same order. The
 * first failure ends the job: the other ranks would wait for this one's collectives. With {@code threads=N} before the
 * names, a process is not a rank, and each test makes N of it.
 */
public final class InsideMpirun {
    private static final String THREADS = "threads=";

    private InsideMpirun() {}

    public static void main(String[] args) throws Exception {
        if (args[0].startsWith(THREADS)) {
            int threads = Integer.parseInt(args[0].substring(THREADS.length()));
            runWithThreads(threads, Arrays.copyOfRange(args, 1, args.length));
            return;
        }
        try (HvdContext hvd = Hvd.init()) {
            Counter counter = run(args);
            if (hvd.rank() == 0) {
                print(hvd.backend().contains("tcp (") ? "tcp" : "mpi", hvd.size(), counter, args);
            }
        }
    }

    private static void runWithThreads(int threads, String[] classNames) throws ClassNotFoundException {
        int size = Hvd.spawn(threads, HvdContext::size).get(0);
        String backend = Hvd.spawn(threads, HvdContext::backend).get(0).replaceFirst("\\W.*", "");
        LaunchedThreads.announce(size / threads, threads);
        Counter counter = run(classNames);
        if (Hvd.spawn(threads, HvdContext::rank).get(0) == 0) {
            print(backend, size, counter, classNames);
        }
    }

    private static Counter run(String[] classNames) throws ClassNotFoundException {
        Counter counter = new Counter();
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter(
                        "junit.jupiter.testmethod.order.default", "org.junit.jupiter.api.MethodOrderer$MethodName");
        for (String name : classNames) {
            request.selectors(selectClass(Class.forName(name)));
        }
        LauncherDiscoveryRequest tests = request.build();
        LauncherFactory.create().execute(tests, counter);
        return counter;
    }

    private static void print(String backend, int ranks, Counter counter, String[] classNames) {
        System.out.printf(
                Locale.ROOT,
                "TESTS backend=%s ranks=%d passed=%d skipped=%d classes=%s%n",
                backend,
                ranks,
                counter.passed,
                counter.skipped,
                Arrays.toString(classNames));
    }

    private static final class Counter implements TestExecutionListener {
        private int passed;
        private int skipped;

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                passed += test.isTest() ? 1 : 0;
                return;
            }
            if (result.getStatus() == TestExecutionResult.Status.ABORTED && test.isTest()) {
                skipped++; // an assumption, which comes out alike on all ranks
                return;
            }
            System.err.println("FAILED " + test.getDisplayName() + " on "
                    + (Hvd.isInitialized()
                            ? "rank " + Hvd.rank()
                            : ProcessHandle.current().pid()));
            result.getThrowable().ifPresent(Throwable::printStackTrace);
            System.exit(1);
        }
    }
}
