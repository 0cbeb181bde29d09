package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.optimizer.torch.graph.AdjointHook;
import io.hvd.tensor.ReduceOp;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How long what backward needs stays, and what becomes of it when something fails. */
@Timeout(120)
class TorchGraphLifeTest {
    private static final int ROUNDS = 1_000;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void aThousandRoundsLeaveNoHookBehind() {
        int before = AdjointHook.living();
        AtomicInteger most = new AtomicInteger();
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            Tensor x = leaf(1, 2, 3);
            for (int round = 0; round < ROUNDS; round++) {
                try (PointerScope scope = new PointerScope()) {
                    Tensor y = collectives.allreduce("x", x);
                    collectives.allgather("y", y).sum().backward();
                }
                most.accumulateAndGet(AdjointHook.living(), Math::max);
            }
            assertThat(floats(x.grad())).containsExactly(ROUNDS, ROUNDS, ROUNDS);
            return null;
        });
        assertThat(most.get()).as("two graphs of two collectives at most").isLessThanOrEqualTo(before + 4);
        assertThat(AdjointHook.living()).isLessThanOrEqualTo(before); // less if garbage of other tests went
    }

    @Test
    void aGraphThatNobodyRunsBackwardLeavesNoHookEither() {
        int before = AdjointHook.living();
        Hvd.spawn(1, hvd -> {
            try (PointerScope scope = new PointerScope()) {
                new TorchCollectives(hvd).allreduce("x", leaf(1));
                assertThat(AdjointHook.living()).isLessThanOrEqualTo(before + 1).isPositive();
            }
            return null;
        });
        assertThat(AdjointHook.living()).isLessThanOrEqualTo(before);
    }

    @Test
    void backwardNeedsNeitherTheScopeOfForwardNorTheObjectThatItWasCalledOn() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor loss = lossOf(hvd, x);
            System.gc();
            for (int i = 0; i < 20; i++) {
                byte[] garbage = new byte[1 << 20];
                assertThat(garbage).isNotEmpty();
            }
            System.gc();
            loss.backward();
            assertThat(floats(x.grad())).containsExactly(1, 1);
            return null;
        });
    }

    /** The output's Java object is gone when the scope closes, its native side lives on in the graph. */
    private static Tensor lossOf(HvdContext hvd, Tensor x) {
        try (PointerScope scope = new PointerScope()) {
            return new TorchCollectives(hvd).allgather("x", x).sum().retainReference();
        }
    }

    @Test
    void threadsMayRunOneGraphBackwardAtTheSameTime() {
        Hvd.spawn(1, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allreduce(null, x);
            IntStream.rangeClosed(1, 4).parallel().forEach(factor -> {
                for (int round = 0; round < 100; round++) {
                    try (PointerScope scope = new PointerScope()) {
                        Tensor loss = y.mul(new Scalar(factor)).sum();
                        assertThat(floats(retaining(loss, x))).containsExactly(factor, factor);
                    }
                }
            });
            return null;
        });
    }

    private static Tensor retaining(Tensor loss, Tensor x) {
        return torch.grad(
                        new TensorVector(loss),
                        new TensorVector(x),
                        new TensorVector(),
                        new BoolOptional(true),
                        false,
                        false)
                .get(0);
    }

    @Test
    void ranksThatDifferInAForwardAreToldAndGoOn() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            Tensor x = hvd.rank() == 0 ? leaf(1) : leaf(1, 2);
            assertThatThrownBy(() -> collectives.allreduce("x", x))
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContaining("\"x\"");
            collectives.allgather("x", x).sum().backward();
            assertThat(floats(x.grad())).containsOnly(1);
            return null;
        });
    }

    @Test
    void aFailureInBackwardLeavesBackwardWithItsText() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allreduce("x", x);
            if (hvd.rank() == 1) {
                // Takes the place of the other rank's backward, with another shape.
                assertThatThrownBy(() -> hvd.allreduce("x.grad", io.hvd.tensor.Tensor.of(1f)))
                        .isInstanceOf(RankMismatchException.class);
            } else {
                assertThatThrownBy(() -> y.sum().backward())
                        .isInstanceOf(RuntimeException.class)
                        .hasMessageContaining("x.grad")
                        .hasMessageContaining(ErrorId.RANK_MISMATCH.code());
            }
            return null;
        });
    }

    @Test
    void aFailureOfACollectiveInBackwardKeepsItsType() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allreduce("x", x);
            if (hvd.rank() == 1) {
                assertThatThrownBy(() -> hvd.allreduce("x.grad", io.hvd.tensor.Tensor.of(1f)))
                        .isInstanceOf(RankMismatchException.class);
            } else {
                assertThatThrownBy(() -> TorchOptimizer.backward(y.sum()))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("x.grad", "[2]", "[1]");
            }
            return null;
        });
    }

    @Test
    void aRankThatLeavesInsteadOfGoingBackwardFailsTheOthers() {
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    Tensor y = new TorchCollectives(hvd).allreduce("x", leaf(1, 2));
                    if (hvd.rank() == 0) {
                        y.sum().backward();
                    }
                    return null;
                }))
                .isInstanceOf(HvdException.class)
                .hasStackTraceContaining("x.grad");
    }

    @ParameterizedTest
    @EnumSource(names = {"MIN", "MAX", "PRODUCT", "ADASUM"})
    void reductionsWithoutAGradientAreRefusedBeforeAnythingTravels(ReduceOp op) {
        Hvd.spawn(1, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            assertThatThrownBy(() -> collectives.allreduce("norm", leaf(1), AllreduceOptions.of(op)))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                    .hasMessageContaining("\"norm\"")
                    .hasMessageContaining(op.name());
            return null;
        });
    }

    private static Tensor leaf(float... values) {
        Tensor leaf = Models.tensor(values);
        leaf.requires_grad_(true);
        return leaf;
    }
}
