package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** Ranks that run out of data: the others go on without them until all have joined. */
public class JoinContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Rank r has r + 1 steps, so the last rank has most and is the one that join names. */
    @Test
    void averagesAreDividedByAllRanksOrByThoseThatAreLeft() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (JoinDivisor divisor : List.of(JoinDivisor.ACTIVE, JoinDivisor.INITIAL)) {
                for (int step = 0; step <= hvd.rank(); step++) {
                    float mean = hvd.allreduce("join." + divisor + "." + step, Tensor.of(1f))
                            .item();
                    assertThat(mean)
                            .as("%s, step %s", divisor, step)
                            .isCloseTo(divisor == JoinDivisor.ACTIVE ? 1f : (n - step) / (float) n, ROUNDED);
                }
                assertThat(hvd.join(divisor)).isEqualTo(n - 1);
            }
            requireUsable(hvd, "join");
            return null;
        });
    }

    /** Horovod promises that a rank with three steps joins one with five. */
    @Test
    void twoRanksWithThreeAndFiveStepsEndTogether() throws Exception {
        onAllOf(2, hvd -> {
            int steps = hvd.rank() == 0 ? 3 : 5;
            for (int step = 0; step < steps; step++) {
                float gradient = hvd.allreduce("gradient", Tensor.of(1f)).item();
                assertThat(gradient).isCloseTo(step < 3 ? 1f : (hvd.size() - 1f) / hvd.size(), ROUNDED);
            }
            assertThat(hvd.join()).isNotZero();
            return null;
        });
    }

    /** As torch's throw_on_early_termination: the ranks that go on and those that wait get an error alike. */
    @Test
    void withoutADivisorARankThatEndsBeforeTheOthersEndsTheStepOfAll() throws Exception {
        onAllOf(3, hvd -> {
            hvd.allreduce("common", Tensor.of(1f));
            boolean ends = hvd.rank() == 1;
            if (ends) {
                assertThatThrownBy(() -> hvd.join(JoinDivisor.NONE)).satisfies(e -> requireEarlyEnd(e));
            } else {
                assertThatThrownBy(() -> hvd.allreduce("more", Tensor.of(1f))).satisfies(e -> requireEarlyEnd(e));
            }
            int joins = hvd.forOptimizers().joins();
            assertThat(hvd.join(JoinDivisor.NONE)).as("all of them at once").isBetween(0, hvd.size() - 1);
            assertThat(hvd.forOptimizers().joins()).isEqualTo(joins + 1);
            requireUsable(hvd, "early");
            return null;
        });
    }

    private static void requireEarlyEnd(Throwable error) {
        assertThat(error).isInstanceOf(RankMismatchException.class);
        assertThat(error)
                .hasMessageContaining("ranks {1} have joined with JoinDivisor.NONE")
                .hasMessageContaining("allreduce of \"more\"");
    }

    /** A rank that has joined counts as the neutral element of the operation, not as zeros. */
    @Test
    void whoHasJoinedChangesNoMinimumMaximumOrProductOfAnyType() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            if (hvd.rank() > 0) {
                for (DType type : DType.values()) {
                    for (ReduceOp op : List.of(ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT, ReduceOp.SUM)) {
                        int mine = type == DType.BOOL ? hvd.rank() % 2 : hvd.rank() % 3 + 1;
                        int expected = 0;
                        for (int rank = 1; rank < n; rank++) {
                            int theirs = type == DType.BOOL ? rank % 2 : rank % 3 + 1;
                            expected = rank == 1 ? theirs : Values.combined(type, op, expected, theirs);
                        }
                        Tensor tensor = Values.tensor(type, Shape.of(3), i -> mine);
                        assertThat(reduce(hvd, "neutral." + type + "." + op, tensor, op)
                                        .toFloatArray())
                                .as("%s of %s", op, type)
                                .containsOnly(expected);
                    }
                }
            }
            hvd.join();
            return null;
        });
    }

    @Test
    void negativeNumbersKeepTheirMaximumAndPositiveOnesTheirMinimum() throws Exception {
        onAllOf(2, hvd -> {
            if (hvd.rank() > 0) {
                assertThat(reduce(hvd, "sign.max", Tensor.of(-5f - hvd.rank()), ReduceOp.MAX)
                                .item())
                        .isEqualTo(-6f);
                AllreduceOptions turned = AllreduceOptions.of(ReduceOp.MIN).withPrescale(-1);
                assertThat(hvd.allreduce("sign.turned", Tensor.of(-5f - hvd.rank()), turned)
                                .item())
                        .as("a factor that turns the sign does not turn what stands in for rank 0")
                        .isEqualTo(6f);
                AllreduceOptions doubled = AllreduceOptions.of(ReduceOp.PRODUCT).withPrescale(2);
                assertThat(hvd.allreduce("sign.product", Tensor.of(1f), doubled).item())
                        .isEqualTo((float) Math.pow(2, hvd.size() - 1));
            }
            hvd.join();
            return null;
        });
    }

    @Test
    void manyTensorsAndGroupsGoOnWithoutWhoHasJoined() throws Exception {
        onAllOf(2, hvd -> {
            int active = hvd.size() - 1;
            if (hvd.rank() > 0) {
                List<Handle> handles = new ArrayList<>();
                for (int i = 0; i < 30; i++) {
                    handles.add(hvd.allreduceAsync("many." + i, Tensor.of(new float[10 + i]), SUM));
                    handles.add(hvd.allreduceAsync("halves." + i, Values.ramp(DType.FLOAT16, 3, 1), SUM));
                }
                handles.forEach(Handle::synchronize);
                List<Tensor> group = List.of(Tensor.of(1f), Tensor.of(2.0), Tensor.of(3));
                assertThat(hvd.groupedAllreduce("group", group, SUM).get(2).item())
                        .isEqualTo(3 * active);
                Tensor large = hvd.allreduce("large", Values.ramp(DType.FLOAT32, 1_300_003, 1), SUM);
                assertThat(large.toFloatArray()[1_300_002])
                        .isEqualTo(active * Values.value(DType.FLOAT32, 1_300_002, 1));
            }
            hvd.join();
            return null;
        });
    }

    /** One rank may scale a part for all; it may be one that has joined. */
    @Test
    void whatComesOutIsScaledEverywhereThoughARankHasJoined() throws Exception {
        onAllOf(2, hvd -> {
            int active = hvd.size() - 1;
            if (hvd.rank() > 0) {
                for (int elements : new int[] {3, 1_300_003}) {
                    Tensor ones = Values.tensor(DType.FLOAT32, Shape.of(elements), i -> 1);
                    Tensor scaled = hvd.allreduce("post." + elements, ones, SUM.withPostscale(3));
                    assertThat(scaled.toFloatArray()).containsOnly(3f * active);
                    AllreduceOptions mean = AllreduceOptions.average().withPostscale(hvd.size());
                    assertThat(hvd.allreduce("mean." + elements, ones, mean).toFloatArray())
                            .containsOnly(active);
                }
            }
            hvd.join();
            return null;
        });
    }

    /** An operation of before is still this rank's, with its own factors, whatever it travels with. */
    @Test
    void whatARankHasAskedForBeforeItJoinsCountsInFull() throws Exception {
        onAllOf(2, hvd -> {
            int n = hvd.size();
            AllreduceOptions scaled = SUM.withPrescale(2);
            AllreduceOptions mean = AllreduceOptions.average();
            for (int round = 0; round < 5; round++) {
                if (hvd.rank() == 0) {
                    Handle before = hvd.allreduceAsync("before", Tensor.of(1f), scaled);
                    Handle meanBefore = hvd.allreduceAsync("mean.before", Tensor.of((float) n), mean);
                    hvd.join(JoinDivisor.ACTIVE);
                    assertThat(before.synchronize().item()).isEqualTo(2f * n);
                    assertThat(meanBefore.synchronize().item()).isCloseTo(n, ROUNDED);
                } else {
                    List<Handle> handles = List.of(
                            hvd.allreduceAsync("only.us", Tensor.of(1f), scaled),
                            hvd.allreduceAsync("before", Tensor.of(1f), scaled),
                            hvd.allreduceAsync("mean.us", Tensor.of(7f), mean),
                            hvd.allreduceAsync("mean.before", Tensor.of((float) n), mean));
                    assertThat(handles.get(0).synchronize().item()).isEqualTo(2f * (n - 1));
                    assertThat(handles.get(1).synchronize().item()).isEqualTo(2f * n);
                    assertThat(handles.get(2).synchronize().item()).isCloseTo(7f, ROUNDED);
                    assertThat(handles.get(3).synchronize().item()).isCloseTo(n, ROUNDED);
                    hvd.join(JoinDivisor.ACTIVE);
                }
            }
            return null;
        });
    }

    @Test
    void whatCannotDoWithoutAJoinedRankFailsAndNamesIt() throws Exception {
        onAllOf(2, hvd -> {
            if (hvd.rank() > 0) {
                // Nobody knows when rank 0's word arrives; from then on every one of these is refused.
                Tensor two = Tensor.of(new float[2]);
                int[] splits = new int[hvd.size()];
                refusedBesideRank0(hvd, "allgather", i -> hvd.allgatherAsync("joined.gather", two));
                refusedBesideRank0(hvd, "broadcast", i -> hvd.broadcastAsync("joined.broadcast", two, 1));
                refusedBesideRank0(hvd, "alltoall", i -> hvd.alltoallAsync("joined.alltoall", two, splits));
                refusedBesideRank0(hvd, "reducescatter", i -> hvd.reducescatterAsync("joined.scatter", two, SUM));
                assertThatThrownBy(() -> hvd.reduce("joined.reduce", two, SUM, 1))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("reduce", "{0}", "joined");
                assertThatThrownBy(() -> hvd.gather("joined.togather", two, 1))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("gather", "{0}", "joined");
                assertThatThrownBy(() -> hvd.scatter("joined.apart", two, 1))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("scatter", "{0}", "joined");
                assertThat(sum(hvd, "joined.sum", 1)).isEqualTo(hvd.size() - 1);
                hvd.barrier();
            }
            hvd.join();
            requireUsable(hvd, "joined");
            assertThat(hvd.allgather("joined.gather", Tensor.of(1f)).elements()).isEqualTo(hvd.size());
            return null;
        });
    }

    private static void refusedBesideRank0(HvdContext hvd, String operation, IntFunction<Handle> call) {
        Handle handle = call.apply(0);
        assertThatThrownBy(handle::synchronize)
                .isInstanceOf(RankMismatchException.class)
                .hasMessageContainingAll(operation, "{0}", "joined", "sparseAsDense", handle.name());
    }

    @Test
    void operationsWithoutNamesMatchAgainAfterAJoin() throws Exception {
        onAll(hvd -> {
            for (int round = 0; round < 3; round++) {
                for (int step = 0; step <= hvd.rank(); step++) {
                    assertThat(hvd.allreduce(null, Tensor.of(1f), SUM).item()).isEqualTo(hvd.size() - step);
                }
                assertThat(hvd.join()).isEqualTo(hvd.size() - 1);
                assertThat(hvd.allgather(null, Tensor.of(1f)).elements()).isEqualTo(hvd.size());
                hvd.barrier();
            }
            return null;
        });
    }

    @Test
    void theRanksMayTakeTurnsInComingLast() throws Exception {
        onAll(hvd -> {
            for (int last = 0; last < hvd.size(); last++) {
                if (hvd.rank() == last) {
                    assertThat(sum(hvd, "turn." + last, 1)).isEqualTo(1);
                }
                int found = hvd.join();
                // The others are on their way already; with them it is the last one's word that counts.
                assertThat(found).isBetween(0, hvd.size() - 1);
                Tensor all = hvd.allgather("turn.all." + last, Tensor.of(found));
                assertThat((int[]) all.toArray())
                        .as("all hear of the same rank")
                        .containsOnly(found);
            }
            return null;
        });
    }

    @Test
    void ranksThatDisagreeAboutTheDivisorAreAllTold() throws Exception {
        onAllOf(2, hvd -> {
            int odd = hvd.size() - 1;
            for (int round = 0; round < 3; round++) {
                JoinDivisor mine = hvd.rank() == odd ? JoinDivisor.ACTIVE : JoinDivisor.INITIAL;
                assertThatThrownBy(() -> hvd.join(mine))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("divisor", "INITIAL", "ACTIVE", "{" + odd + "}");
            }
            assertThat(hvd.join()).isBetween(0, odd);
            requireUsable(hvd, "divisor");
            return null;
        });
    }

    @Test
    void theMembersOfASetJoinAmongThemselves() throws Exception {
        onAllOf(3, hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(0, hvd.size() - 1));
            if (set.included()) {
                if (hvd.rank() == 0) {
                    assertThat(sum(set, "set.join", 1)).isEqualTo(1);
                }
                set.join();
                assertThat(sum(set, "set.after", 1)).isEqualTo(2);
            }
            requireUsable(hvd, "set.join");
            hvd.removeProcessSet(set);
            return null;
        });
    }

    /** After a join, operations without a name are counted from the beginning again. */
    @Test
    void whoNeverCameToABarrierComesToTheNextOneAfterAJoin() throws Exception {
        onAllOf(2, hvd -> {
            if (hvd.rank() == 0) {
                assertThatThrownBy(() -> hvd.monitoredBarrier(Duration.ofMillis(1)))
                        .isInstanceOf(BarrierTimeoutException.class);
            }
            hvd.allreduceInPlace("join.late", Tensor.of(1f), SUM);
            hvd.join();
            hvd.monitoredBarrier(Duration.ofMinutes(1));
            return null;
        });
    }

    /** Nobody's part is missing, although an allgather cannot do without a rank that has joined. */
    @Test
    void whatEveryRankHadAskedForBeforeItJoinedIsCarriedOut() throws Exception {
        onAll(hvd -> {
            for (int round = 0; round < 20; round++) {
                Handle all = hvd.allgatherAsync("before", Tensor.of(hvd.rank() + 0f));
                Handle root = hvd.broadcastAsync("before.root", Tensor.of(hvd.rank() + 0f), 0);
                hvd.join();
                assertThat(all.synchronize().elements()).isEqualTo(hvd.size());
                assertThat(root.synchronize().item()).isZero();
            }
            return null;
        });
    }
}
