package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sparse gradients of embeddings, which travel as rows. */
@Timeout(120)
class TorchSparseTest {
    private static final int WORDS = 50;
    private static final int STEPS = 4;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** An embedding and a dense layer. */
    private static final class Words extends Module {
        private final EmbeddingImpl embedding;
        private final LinearImpl dense = register_module("dense", new LinearImpl(3, 2));

        Words(boolean sparse) {
            EmbeddingOptions options = new EmbeddingOptions(WORDS, 3);
            options.sparse().put(sparse);
            embedding = register_module("embedding", new EmbeddingImpl(options));
            Models.fill(this, 4);
        }

        /** The mean over words, of which some come twice. */
        Tensor loss(int from, int to) {
            long[] words = new long[to - from];
            for (int i = from; i < to; i++) {
                words[i - from] = (7L * i * i) % WORDS;
            }
            Tensor out = dense.forward(embedding.forward(Tensor.create(words, words.length)));
            return out.mul(out).mean();
        }
    }

    private static Optimizer make(Module net, boolean adagrad) {
        return adagrad
                ? new Adagrad(net.parameters(), new AdagradOptions(0.1))
                : new SGD(net.parameters(), new SGDOptions(0.5));
    }

    private static DistributedOptimizerBuilder wrap(Words net, boolean adagrad) {
        return DistributedOptimizer.wrap(
                new TorchOptimizer(make(net, adagrad), net.named_parameters(), List.of("embedding.weight")));
    }

    private static float[] whole(int perStep, boolean adagrad) {
        Words net = new Words(false);
        Optimizer inner = make(net, adagrad);
        for (int step = 0; step < STEPS; step++) {
            inner.zero_grad();
            net.loss(100 * step, 100 * step + perStep).backward();
            inner.step().close();
        }
        return Models.weights(net);
    }

    @ParameterizedTest(name = "{0} ranks, Adagrad {1}")
    @CsvSource({"1, false", "2, false", "3, false", "2, true"})
    void ranksThatGatherRowsTrainAsOneRankWithADenseGradient(int size, boolean adagrad) {
        List<float[]> weights = Hvd.spawn(size, hvd -> {
            Words net = new Words(true);
            DistributedOptimizer optimizer = wrap(net, adagrad).build();
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = 100 * step + 6 * hvd.rank();
                    optimizer.zeroGradients();
                    net.loss(from, from + 6).backward();
                    optimizer.step();
                }
            }
            assertThat(net.embedding.weight().grad().is_sparse()).isTrue();
            return Models.weights(net);
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            assertClose(ofRank, whole(6 * size, adagrad), 1e-5);
        }
    }

    /** As many ranks as there are cores, so that gradients wait for the end of backward once the steps repeat. */
    @Test
    void whatTravelsAsDenseTravelsLateToo() {
        int ranks = Math.max(2, Runtime.getRuntime().availableProcessors());
        int[] steps = new int[ranks];
        List<float[]> weights = Hvd.spawn(ranks, hvd -> {
            Words net = new Words(true);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(make(net, false), net.named_parameters(), true))
                    .build();
            for (int late = 0; !allAgree(hvd, late >= 10); steps[hvd.rank()]++) {
                assertThat(steps[hvd.rank()])
                        .as("steps, of which %d were late", late)
                        .isLessThan(400);
                int from = 6 * (ranks * (steps[hvd.rank()] % 7) + hvd.rank());
                optimizer.zeroGradients();
                Parameter embedding = optimizer.parameters().get(0);
                float[] before = embedding.gradient().toFloatArray();
                net.loss(from, from + 6).backward();
                late += Arrays.equals(before, embedding.gradient().toFloatArray()) ? 1 : 0;
                optimizer.step();
                assertThat(net.embedding.weight().grad().is_sparse()).isFalse();
            }
            return Models.weights(net);
        });

        Words plain = new Words(false);
        Optimizer inner = make(plain, false);
        for (int step = 0; step < steps[0]; step++) {
            inner.zero_grad();
            plain.loss(6 * ranks * (step % 7), 6 * ranks * (step % 7 + 1)).backward();
            inner.step().close();
        }
        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            assertClose(ofRank, Models.weights(plain), 1e-4);
        }
    }

    private static boolean allAgree(HvdContext hvd, boolean agrees) {
        return hvd.allreduce("agrees", io.hvd.tensor.Tensor.of(agrees ? 1f : 0f), AllreduceOptions.sum())
                        .item()
                == hvd.size();
    }

    /** Rank 0 has five samples, rank 1 three and rank 2 none, each in two passes. */
    @Test
    void rowsCountByTheSamplesOfTheirBatchesAndOfTheirPasses() {
        int[] from = {0, 5, 8, 8};
        List<float[]> weights = Hvd.spawn(3, hvd -> {
            Words net = new Words(true);
            DistributedOptimizer optimizer = wrap(net, false)
                    .weightByBatchSize()
                    .backwardPassesPerStep(2)
                    .build();
            for (int step = 0; step < STEPS; step++) {
                optimizer.zeroGradients();
                int begin = 100 * step + from[hvd.rank()];
                int end = 100 * step + from[hvd.rank() + 1];
                for (int part : new int[] {begin, Math.min(begin + 1, end)}) {
                    int to = part == begin ? Math.min(begin + 1, end) : end;
                    optimizer.batchSize(hvd.rank() == 2 ? 0 : to - part);
                    if (hvd.rank() != 2) {
                        net.loss(part, to).backward();
                    }
                }
                optimizer.step();
            }
            return Models.weights(net);
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            assertClose(ofRank, whole(8, false), 1e-5);
        }
    }

    /** A mean of two equal passes is one of them; and a rank whose backward has not reached the embedding has no rows. */
    @Test
    void passesAddUpAndARankWithoutRowsGathersThoseOfTheOthers() {
        Hvd.spawn(2, hvd -> {
            Words net = new Words(true);
            DistributedOptimizer optimizer = wrap(net, false)
                    .backwardPassesPerStep(2)
                    .localReduction(LocalReduction.MEAN)
                    .build();
            for (int pass = 0; pass < 2; pass++) {
                Tensor loss = hvd.rank() == 0
                        ? net.embedding
                                .forward(Tensor.create(new long[] {3, 9, 3}, 3))
                                .sum()
                        : net.dense.weight().sum();
                loss.backward();
            }
            optimizer.synchronize();

            Tensor gradient = net.embedding.weight().grad();
            assertThat(gradient._indices().numel()).as("each row once").isEqualTo(2);
            float[] dense = Models.floats(gradient.to_dense());
            assertThat(new float[] {dense[3 * 3], dense[9 * 3], dense[0]}).containsExactly(1, 0.5f, 0);
            optimizer.step();
            return null;
        });
    }

    /** Both ranks clip by the norm of the same rows, in which those that occur several times count once. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theArithmeticOfMixedPrecisionKnowsTheRows(int size) {
        Hvd.spawn(size, hvd -> {
            Words net = new Words(true);
            TorchOptimizer inner =
                    new TorchOptimizer(make(net, false), net.named_parameters(), List.of("embedding.weight"));
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            net.embedding
                    .forward(Tensor.create(new long[] {3, 3}, 2))
                    .mul(new Scalar(2.0))
                    .sum()
                    .backward();
            optimizer.synchronize();
            assertThat(inner.gradientNorm()).isCloseTo(Math.sqrt(3 * 16), org.assertj.core.data.Offset.offset(1e-6));
            assertThat(inner.multiplyGradients(0.25)).isEqualTo(-1);
            assertThat(inner.gradientNorm()).isCloseTo(Math.sqrt(3), org.assertj.core.data.Offset.offset(1e-6));
            return null;
        });
    }

    /** Rank 0 sends two rows of three floats with their numbers, rank 1 one; they are not hidden, and have no copy. */
    @Test
    void rowsAreCountedInTheStatisticsAndTakeNoMemoryBesideLibTorchs() {
        Hvd.spawn(2, hvd -> {
            Words net = new Words(true);
            TorchOptimizer inner =
                    new TorchOptimizer(make(net, false), net.named_parameters(), List.of("embedding.weight"));
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            long dense = 0;
            for (Parameter parameter : inner.parameters()) {
                boolean rows = parameter.name().equals("embedding.weight");
                assertThat(parameter.gradient().bytes())
                        .as(parameter.name())
                        .isEqualTo(rows ? 0 : parameter.value().bytes());
                dense += parameter.gradient().bytes();
            }
            long[] words = hvd.rank() == 0 ? new long[] {3, 9, 3} : new long[] {9};
            for (int step = 0; step < 2; step++) {
                optimizer.zeroGradients();
                net.embedding.forward(Tensor.create(words, words.length)).sum().backward();
                optimizer.step();
                long rows = hvd.rank() == 0 ? 2 : 1;
                assertThat(optimizer.lastStep().bytes()).isEqualTo(dense + rows * (3 * 4 + 8));
                assertThat(optimizer.lastStep().bytesSent()).isEqualTo(dense + rows * (3 * 4 + 8));
                assertThat(optimizer.lastStep().bytesBeforeBackwardEnded()).isLessThanOrEqualTo(dense);
            }
            return null;
        });
    }

    /** The advice of one error does not lead into the other. */
    @Test
    void aSparseGradientThatStaysOnItsRankIsRefusedWithAWayThatWorks() {
        Hvd.spawn(2, hvd -> {
            for (boolean asDense : new boolean[] {false, true}) {
                Words net = new Words(true);
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                                new TorchOptimizer(make(net, false), net.named_parameters(), asDense))
                        .localParameters(List.of("embedding.weight"))
                        .build();
                if (asDense) {
                    TorchOptimizer.backward(net.loss(0, 3));
                    optimizer.step();
                    assertThat(net.embedding.weight().grad().is_sparse()).isFalse();
                } else {
                    assertThatThrownBy(() -> TorchOptimizer.backward(net.loss(0, 3)))
                            .hasMessageContainingAll("unless localParameters(...) names it", "sparseAsDense = true");
                }
            }
            return null;
        });
    }

    @Test
    void whatIsNotAsItWasSaidIsNamed() {
        Hvd.spawn(2, hvd -> {
            Words plain = new Words(false);
            DistributedOptimizer told = wrap(plain, false).build();
            plain.loss(0, 3).backward();
            assertThatThrownBy(told::step)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-201", "\"embedding.weight\" is dense, expected a sparse one");

            Words sparse = new Words(true);
            assertThatThrownBy(() -> new TorchOptimizer(
                            make(sparse, false), sparse.named_parameters(), List.of("embedding.wait")))
                    .hasMessageContainingAll("HVD-401", "[embedding.wait]", "said to have sparse gradients");
            assertThatThrownBy(() -> wrap(sparse, false)
                            .localParameters(List.of("embedding.weight"))
                            .build())
                    .hasMessageContainingAll(
                            "HVD-401", "\"embedding.weight\"", "take it from one of the two lists", "sparseAsDense");
            return null;
        });
    }

    /** Otherwise one rank would wait for rows and the other for the whole gradient. */
    @Test
    void aSparseGradientOfSomeRanksOnlyIsRefusedInTheFirstStep() {
        Hvd.spawn(2, hvd -> {
            Words net = new Words(hvd.rank() == 0);
            List<String> sparse = hvd.rank() == 0 ? List.of("embedding.weight") : List.of();
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(make(net, false), net.named_parameters(), sparse))
                    .build();
            net.loss(0, 3).backward();
            assertThatThrownBy(optimizer::step)
                    .hasMessageContainingAll(
                            "HVD-403", "\"sparse gradients\" is [] on ranks [1] and [embedding.weight] on ranks [0]");
            return null;
        });
    }
}
