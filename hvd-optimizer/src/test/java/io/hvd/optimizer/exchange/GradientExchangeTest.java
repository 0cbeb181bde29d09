package io.hvd.optimizer.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.RecordingOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Steps that fail between backward and the averages, and what the next call finds. */
@Timeout(60)
class GradientExchangeTest {
    /** Backward has sent one gradient when the other one cannot be put in its place. */
    @ParameterizedTest(name = "range control: {0}")
    @ValueSource(booleans = {false, true})
    void afterAGradientThatCannotBeStagedTheNextStepIsAsAnyOther(boolean ranged) {
        Hvd.spawn(2, hvd -> {
            Source source = new Source("a", "b");
            DistributedOptimizerBuilder builder =
                    DistributedOptimizer.wrap(source).bucketBytes(4);
            DistributedOptimizer optimizer = (ranged
                            ? builder.compression(Compression.FP16).rangeControl(RangeControl.every(100))
                            : builder)
                    .build();
            source.compute(1, 2);
            source.compute(0, 2);
            optimizer.step();

            source.compute(1, 2 * hvd.rank());
            source.failure = "it was moved";
            assertThatThrownBy(optimizer::step).hasMessage("it was moved");
            assertThat(source.gradients[1]).as("what was sent has arrived").isEqualTo(new float[] {1});

            source.failure = null;
            optimizer.zeroGradients();
            source.compute(1, 4 * hvd.rank());
            source.compute(0, 6 * hvd.rank());
            optimizer.step();
            assertThat(source.gradients[1]).containsExactly(2);
            assertThat(source.gradients[0]).containsExactly(3);
            return null;
        });
    }

    @Test
    void afterASparseExchangeThatFailsTheGradientsHaveArrivedAndTheNextStepIsAsAnyOther() {
        Hvd.spawn(2, hvd -> {
            Source source = new Source("a", "rows");
            source.sparse = Set.of("rows");
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(source).build();
            source.compute(0, 2 * hvd.rank());
            source.failure = "the rows differ";
            assertThatThrownBy(optimizer::step).hasMessage("the rows differ");
            assertThat(source.gradients[0]).containsExactly(1);

            source.failure = null;
            source.compute(0, 4 * hvd.rank());
            optimizer.step();
            assertThat(source.gradients[0]).containsExactly(2);
            return null;
        });
    }

    /** As with branches or several threads of autograd; the program's own call comes before, between and after the gradients. */
    @ParameterizedTest(name = "reducer: {0}")
    @ValueSource(booleans = {false, true})
    void strictModeAcceptsGradientsThatBackwardComputesInAnotherOrderOnEachRank(boolean reduced) {
        LocalRanks.spawn(3, InitOptions.standard(), Map.of("HVD_STRICT", "1"), hvd -> {
            Source source = new Source("a", "b");
            DistributedOptimizerBuilder builder =
                    DistributedOptimizer.wrap(source).bucketBytes(4);
            DistributedOptimizer optimizer = (reduced
                            ? builder.reducer(
                                    bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket))
                            : builder)
                    .build();
            for (int step = 0; step < 4; step++) {
                if (hvd.rank() == 0) {
                    loss(hvd);
                }
                source.compute(hvd.rank() % 2, 3 * hvd.rank());
                if (hvd.rank() == 1) {
                    loss(hvd);
                }
                source.compute(1 - hvd.rank() % 2, 3 * hvd.rank());
                if (hvd.rank() == 2) {
                    loss(hvd);
                }
                optimizer.step();
                assertThat(source.gradients[0]).containsExactly(3);
                assertThat(source.gradients[1]).containsExactly(3);
                optimizer.zeroGradients();
            }
            assertThatThrownBy(() -> hvd.allreduce(hvd.rank() == 1 ? "one" : "other", Tensor.of(1f)))
                    .as("what the program orders is compared as before")
                    .hasMessageContainingAll("strict mode", "\"one\"", "\"other\"");
            return null;
        });
    }

    private static void loss(ProcessSet set) {
        assertThat(set.allreduce("loss", Tensor.of(1f)).item()).isEqualTo(1);
    }

    /** The gradients of the ranks have different names. */
    @Test
    void afterScopesThatDifferEveryCallIsRefusedAndNoneWaits() {
        Hvd.spawn(2, hvd -> {
            List<DistributedOptimizer> twins = List.of(sgd().build(), sgd().build());
            DistributedOptimizer differing = twins.get(hvd.rank());
            differing.gradientReady("w");
            requireEnded(differing);
            return null;
        });
    }

    /** Rank 0 waits for the samples of rank 1, which says none. */
    @Test
    void afterWeightsOnOneRankOnlyEveryCallIsRefusedAndNoneWaits() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer differing = (hvd.rank() == 0 ? sgd().weightByBatchSize() : sgd()).build();
            if (hvd.rank() == 0) {
                differing.batchSize(1);
            }
            requireEnded(differing);
            return null;
        });
    }

    private static void requireEnded(DistributedOptimizer differing) {
        assertThatThrownBy(differing::step)
                .isInstanceOfSatisfying(
                        HvdException.class, error -> assertThat(error.id()).isEqualTo(ErrorId.DIVERGED));
        refused(differing::step);
        refused(() -> differing.gradientReady("w"));
        refused(() -> differing.loadState(differing.saveState()));
        differing.zeroGradients();
        refused(differing::synchronize);
    }

    private static DistributedOptimizerBuilder sgd() {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1));
    }

    private static void refused(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-401", "has ended with its first step", "Build a new one on every rank");
    }

    @Test
    void aParameterThatOnlyAPassInsideNoSyncHasReachedIsReached() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            Source source = new Source("inside", "both", "never");
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(source).build();
            try (var local = optimizer.noSync()) {
                source.compute(0, 1);
                source.compute(1, 1);
            }
            source.compute(1, 1);
            optimizer.step();
            hvd.barrier();
            source.compute(1, 1);
            optimizer.step();
            return null;
        }));

        assertThat(log.lines().filter(line -> line.contains("no backward pass of the first step")))
                .singleElement()
                .asString()
                .contains("on 2 of 2 ranks \"never\" (2)")
                .doesNotContain("\"inside\"", "\"both\"");
    }

    private static String logOf(Runnable action) {
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** Rank 0 sends its gradients during backward, while the others, which keep theirs until the step, take over a state instead. */
    @Test
    void aStateIsTakenOverAlsoIfGradientsTravelLateOnSomeRanksOnly() {
        int ranks = Math.max(2, Runtime.getRuntime().availableProcessors()); // so that none has a second core
        float mean = (ranks - 1) / 2f;
        Hvd.spawn(ranks, hvd -> {
            Source source = new Source("a", "b");
            source.keeps = hvd.rank() > 0;
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(source).build();
            for (int step = 0; step < 40; step++) {
                source.compute(1, hvd.rank());
                source.compute(0, hvd.rank());
                optimizer.step();
                assertThat(source.gradients[0]).as("step %d", step).containsExactly(mean);
            }
            assertThat(hvd.forOptimizers().stepsTravelLate()).isTrue();

            source.compute(1, 2 * hvd.rank());
            source.compute(0, 2 * hvd.rank());
            optimizer.loadState(new byte[0]);
            assertThat(source.gradients[0]).as("the average, which is dropped").containsExactly(2 * mean);

            source.compute(1, 4 * hvd.rank());
            source.compute(0, 4 * hvd.rank());
            optimizer.step();
            assertThat(source.gradients[0]).containsExactly(4 * mean);
            return null;
        });
    }

    /** Gradients of one element each, announced when the test says so. */
    private static final class Source extends RecordingOptimizer implements GradientSource {
        final float[][] gradients;
        private Listener listener;
        Set<String> sparse = Set.of();
        boolean keeps;
        /** Null if nothing fails. */
        String failure;

        Source(String... names) {
            this(new float[names.length][1], names);
        }

        private Source(float[][] gradients, String... names) {
            super(IntStream.range(0, names.length)
                    .mapToObj(i -> new Parameter(names[i], Tensor.of(new float[1]), Tensor.of(gradients[i])))
                    .toList());
            this.gradients = gradients;
        }

        void compute(int parameter, float value) {
            boolean taken = listener.passed(parameter);
            gradients[parameter][0] = value;
            if (taken) {
                listener.ready(parameter);
            }
        }

        @Override
        public boolean keepsUntilStaged() {
            return keeps;
        }

        @Override
        public void listen(Listener newListener) {
            listener = newListener;
        }

        @Override
        public void stage(int parameter) {
            if (sparse.isEmpty()) {
                failIfAsked();
            }
        }

        private void failIfAsked() {
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
        }

        @Override
        public Set<String> sparse() {
            return sparse;
        }

        @Override
        public long exchangeSparse(ProcessSet set, String scope, double weight) {
            failIfAsked();
            return 0;
        }

        @Override
        public void adopt() {}

        @Override
        public boolean hasNewGradient() {
            return true;
        }
    }
}
