package io.hvd.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.opentest4j.AssertionFailedError;

class RanksTest {
    /** Tests that another run of JUnit makes, as all below; this one does not find them. */
    static final class Green {
        private static final List<List<Integer>> RANKS = new ArrayList<>();

        private final List<Integer> ranks = Collections.synchronizedList(new ArrayList<>());

        @Ranks({1, 3})
        void eachRankHasItsContextAndAllShareTheOtherParameters(
                TestInfo test, @TempDir Path folder, HvdContext hvd, HvdContext same) throws Exception {
            assertThat(hvd).isSameAs(same).isSameAs(Hvd.init());
            assertThat(test.getDisplayName()).isEqualTo(hvd.size() == 1 ? "1 rank" : "3 ranks");
            Files.createFile(folder.resolve("rank" + hvd.rank()));
            assertThat(hvd.allreduce("ones", Tensor.of(1f)).toFloatArray()).containsExactly(1f);
            assertThat(folder.toFile().list()).hasSize(hvd.size());
            ranks.add(hvd.rank());
        }

        @AfterEach
        void afterTheRanks() {
            RANKS.add(ranks.stream().sorted().toList());
        }
    }

    @Test
    void theMethodRunsOnEveryNumberOfRanks() {
        TestExecutionSummary summary = run(
                Green.class,
                "eachRankHasItsContextAndAllShareTheOtherParameters",
                TestInfo.class,
                Path.class,
                HvdContext.class,
                HvdContext.class);

        assertThat(summary.getFailures()).isEmpty();
        assertThat(Green.RANKS).containsExactly(List.of(0), List.of(0, 1, 2));
    }

    @Ranks(2)
    void aTrainerMayJoinAndCloseByItself() {
        try (HvdContext hvd = Hvd.init()) {
            assertThat(hvd.size()).isEqualTo(2);
        }
    }

    static final class Red {
        @Ranks(4)
        void oneRankDiffers(HvdContext hvd) {
            assertEquals(7, hvd.rank() == 2 ? 8 : 7, "the number");
            hvd.barrier();
        }

        @Ranks(2)
        void oneRankThrows(HvdContext hvd) {
            if (hvd.rank() == 1) {
                throw new IllegalStateException("no data");
            }
            hvd.barrier();
        }

        @Ranks(2)
        void oneRankAssumes(HvdContext hvd) {
            assumeTrue(hvd.rank() == 0, "needs more");
            hvd.barrier();
        }

        @Ranks(2)
        @Timeout(1)
        void aRankWaits(HvdContext hvd) throws Exception {
            if (hvd.rank() == 0) {
                new CountDownLatch(1).await();
            }
            hvd.barrier();
        }

        @Ranks({2, 0})
        void noRanks() {}

        @Ranks({})
        void noNumber() {}
    }

    @Test
    void theAssertionOfARankNamesTheRankAndKeepsItsValues() {
        Throwable thrown = failure("oneRankDiffers", HvdContext.class);

        assertThat(thrown)
                .isInstanceOf(AssertionFailedError.class)
                .hasMessage("rank 2 of 4: the number ==> expected: <7> but was: <8>");
        AssertionFailedError failed = (AssertionFailedError) thrown;
        assertThat(failed.getExpected().getValue()).isEqualTo(7);
        assertThat(failed.getActual().getValue()).isEqualTo(8);
    }

    @Test
    void anotherExceptionNamesTheRankToo() {
        assertThat(failure("oneRankThrows", HvdContext.class))
                .hasMessageContaining("rank 1 failed")
                .hasRootCauseMessage("no data");
    }

    static final class Early {
        @BeforeEach
        void ownContext(HvdContext hvd) {
            assertThat(hvd).isNotNull();
        }

        @Ranks(2)
        void nothing() {}
    }

    @Test
    void aMethodThatRunsBeforeTheRanksGetsNoContext() {
        TestExecutionSummary summary = run(Early.class, "nothing");

        assertThat(summary.getFailures()).hasSize(1);
        assertThat(summary.getFailures().get(0).getException())
                .hasMessageContainingAll("ownContext(io.hvd.HvdContext)", "runs once, before or after the ranks");
    }

    @Test
    void anAssumptionSkipsTheTest() {
        TestExecutionSummary summary = run(Red.class, "oneRankAssumes", HvdContext.class);

        assertThat(summary.getTestsAbortedCount()).isEqualTo(1);
        assertThat(summary.getTestsFailedCount()).isZero();
    }

    @Test
    void aTimeoutEndsAllRanks() {
        assertThat(failure("aRankWaits", HvdContext.class)).hasStackTraceContaining("timed out after 1 second");
    }

    @Test
    void aTestWithoutRanksIsRefused() {
        assertThat(failure("noRanks")).hasMessageContaining("@Ranks([2, 0]) of noRanks: expected");
        assertThat(failure("noNumber")).hasMessageContaining("@Ranks([]) of noNumber: expected");
    }

    private static Throwable failure(String test, Class<?>... parameters) {
        TestExecutionSummary summary = run(Red.class, test, parameters);
        StringWriter said = new StringWriter();
        summary.printTo(new PrintWriter(said));
        assertThat(summary.getFailures()).as(said.toString()).hasSize(1);
        return summary.getFailures().get(0).getException();
    }

    private static TestExecutionSummary run(Class<?> tests, String test, Class<?>... parameters) {
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectMethod(tests, test, parameters))
                                .build(),
                        listener);
        return listener.getSummary();
    }
}
