package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.ShardedOptimizer;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** LibTorch optimizers whose state is shared out, beside those that have all of it on every rank. */
@Timeout(120)
abstract class ShardedTraining {
    private static final Function<TensorVector, Optimizer> ADAM = share -> new Adam(share, Models.adam(0.01));
    private static final List<Function<TensorVector, Optimizer>> KINDS = List.of(
            ADAM,
            share -> new SGD(share, Models.sgd(0.05)),
            share -> new RMSprop(share, new RMSpropOptions(0.01)),
            share -> new TorchLars(share, 0.5, 0.9, 0.01, 0.1, parameter -> parameter.dim() > 1),
            share -> new TorchLamb(share, 0.01));

    abstract GradientSamples.Ranks ranks();

    private static DistributedOptimizer unsharded(
            HvdContext hvd, Models.Net net, Function<TensorVector, Optimizer> make) {
        return DistributedOptimizer.wrap(new TorchOptimizer(make.apply(net.parameters()), net.named_parameters()))
                .context(hvd)
                .build();
    }

    private static ShardedOptimizer sharded(HvdContext hvd, Models.Net net, Function<TensorVector, Optimizer> make) {
        return TorchOptimizer.sharded(hvd, net.named_parameters(), make);
    }

    private static DistributedOptimizer wrapped(HvdContext hvd, ShardedOptimizer sharded) {
        return DistributedOptimizer.wrap(sharded)
                .context(hvd)
                .compareParametersEvery(1)
                .build();
    }

    private static void steps(HvdContext hvd, Models.Net net, DistributedOptimizer optimizer, int from, int to) {
        for (int step = from; step < to; step++) {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                int sample = 8 * (step * hvd.size() + hvd.rank());
                net.loss(sample, sample + 8).backward();
                optimizer.step();
            }
        }
    }

    @Test
    void theWeightsAreThoseOfTheOptimizerThatIsNotSharded() throws Exception {
        ranks().run(hvd -> {
            for (var kind : KINDS) {
                Models.Net whole = new Models.Net(3);
                Models.Net shared = new Models.Net(3);
                float[] before = weights(shared);
                steps(hvd, whole, unsharded(hvd, whole, kind), 0, 5);
                steps(hvd, shared, wrapped(hvd, sharded(hvd, shared, kind)), 0, 5);
                assertThat(weights(shared)).isEqualTo(weights(whole)).isNotEqualTo(before);
            }
            return null;
        });
    }

    private static AmpOptimizer amp(DistributedOptimizer optimizer) {
        return AmpOptimizer.wrap(optimizer).clipGradientNorm(0.01).build();
    }

    private static void ampSteps(HvdContext hvd, Models.Net net, AmpOptimizer amp) {
        for (int step = 0; step < 4; step++) {
            try (PointerScope scope = new PointerScope()) {
                amp.zeroGradients();
                int sample = 8 * (step * hvd.size() + hvd.rank());
                Tensor loss = net.loss(sample, sample + 8);
                amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                amp.step();
            }
        }
    }

    /** On a GPU only LibTorch's arithmetic can unscale and clip the gradients. */
    @Test
    void mixedPrecisionUsesTheArithmeticOfLibTorchAndGivesTheSameWeights() throws Exception {
        ranks().run(hvd -> {
            Models.Net whole = new Models.Net(3);
            Models.Net shared = new Models.Net(3);
            assertThat(new ShardedTorch(shared.named_parameters(), ADAM)).isInstanceOf(GradientArithmetic.class);
            AmpOptimizer plain = amp(unsharded(hvd, whole, ADAM));
            AmpOptimizer sharded = amp(wrapped(hvd, sharded(hvd, shared, ADAM)));
            ampSteps(hvd, whole, plain);
            ampSteps(hvd, shared, sharded);
            assertThat(sharded.skippedSteps()).isZero();
            assertThat(sharded.lastGradientNorm())
                    .isEqualTo(plain.lastGradientNorm())
                    .isGreaterThan(0.01);
            assertThat(weights(shared)).isEqualTo(weights(whole));
            return null;
        });
    }

    @Test
    void eachRankKeepsItsShareOfTheStateOnly() throws Exception {
        ranks().run(hvd -> {
            Models.Net net = new Models.Net(3);
            ShardedOptimizer sharded = sharded(hvd, net, ADAM);
            assertThat(sharded.stateBytes()).isZero();
            steps(hvd, net, wrapped(hvd, sharded), 0, 2);
            long all = 2
                    * sharded.parameters().stream()
                            .mapToLong(parameter -> parameter.value().bytes())
                            .sum();
            long[] byRank = sharded.stateBytesOfRanks();
            // Adam has a counter per parameter besides, which LibTorch keeps as a number.
            assertThat(Arrays.stream(byRank).sum()).isEqualTo(all);
            assertThat(byRank).hasSize(hvd.size());
            assertThat(sharded.stateBytes()).isEqualTo(byRank[hvd.rank()]);
            // 40 + 8 and 24 + 3 parameters: the largest is 40 of 75.
            assertThat(Arrays.stream(byRank).max().orElseThrow()).isEqualTo(hvd.size() == 1 ? all : 2 * 4 * 40L);
            return null;
        });
    }

    @Test
    void theConsolidatedStateIsThatOfTheOptimizerThatIsNotShardedAndBothReadIt() throws Exception {
        ranks().run(hvd -> {
            for (var kind : KINDS) {
                int root = hvd.size() - 1;
                Models.Net whole = new Models.Net(3);
                DistributedOptimizer plain = unsharded(hvd, whole, kind);
                steps(hvd, whole, plain, 0, 3);
                Models.Net shared = new Models.Net(3);
                ShardedOptimizer sharded = sharded(hvd, shared, kind);
                steps(hvd, shared, wrapped(hvd, sharded), 0, 3);
                sharded.consolidate(root);
                byte[] state = null;
                if (hvd.rank() == root) {
                    state = sharded.saveState();
                    assertThat(state).isEqualTo(plain.saveState());
                } else {
                    assertThatThrownBy(sharded::saveState)
                            .isInstanceOfSatisfying(
                                    HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                            .hasMessageContainingAll("rank " + hvd.rank(), "consolidate(root)");
                }
                continueFrom(hvd, kind, root, state, shared);
                steps(hvd, whole, plain, 3, 6);
            }
            return null;
        });
    }

    /** The root reads the state, sharded and not, and its broadcast gives the other ranks their shares. */
    private static void continueFrom(
            HvdContext hvd, Function<TensorVector, Optimizer> kind, int root, byte[] state, Models.Net trained) {
        Models.Net sharedAgain = copyOf(trained);
        Models.Net wholeAgain = copyOf(trained);
        DistributedOptimizer sharded = wrapped(hvd, sharded(hvd, sharedAgain, kind));
        DistributedOptimizer whole = unsharded(hvd, wholeAgain, kind);
        if (state != null) {
            sharded.loadState(state);
            whole.loadState(state);
        }
        sharded.broadcastOptimizerState(root);
        whole.broadcastOptimizerState(root);
        steps(hvd, sharedAgain, sharded, 3, 6);
        steps(hvd, wholeAgain, whole, 3, 6);
        assertThat(weights(sharedAgain)).isEqualTo(weights(wholeAgain)).isNotEqualTo(weights(trained));
    }

    private static Models.Net copyOf(Models.Net net) {
        Models.Net copy = new Models.Net(99);
        StateDict.load(copy, StateDict.of(net));
        return copy;
    }

    @Test
    void aFreshStateIsBroadcastAtTheStart() throws Exception {
        ranks().run(hvd -> {
            Models.Net net = new Models.Net(hvd.rank());
            ShardedOptimizer sharded = sharded(hvd, net, ADAM);
            DistributedOptimizer optimizer = wrapped(hvd, sharded);
            sharded.learningRate(0.01 + hvd.rank());
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
            assertThat(optimizer.learningRate()).isEqualTo(0.01);
            steps(hvd, net, optimizer, 0, 2);
            if (hvd.size() > 1) {
                assertThatThrownBy(optimizer::saveState).hasMessageContaining("consolidate(root)");
            }
            return null;
        });
    }

    @Test
    void anOptimizerOverOtherParametersThanTheShareIsRefused() throws Exception {
        ranks().run(hvd -> {
            Models.Net net = new Models.Net(3);
            long share =
                    hvd.size() == 1 ? 4 : sharded(hvd, net, ADAM).parameters().size();
            assertThatThrownBy(() -> sharded(
                            hvd,
                            net,
                            mine -> new Adam(
                                    mine.size() > 0 ? new TensorVector() : net.parameters(), Models.adam(0.1))))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("one parameter group of the", "found 1 groups of");
            assertThat(share).isEqualTo(4);
            return null;
        });
    }
}
