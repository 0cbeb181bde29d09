package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Collectives among some of the ranks, in sets that come and go while the job runs. */
public class ProcessSetContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Ranks 1, 3, 5 and so on. */
    private static List<Integer> odd(HvdContext hvd) {
        return IntStream.range(0, hvd.size())
                .filter(rank -> rank % 2 == 1)
                .boxed()
                .toList();
    }

    private static float sumOf(ProcessSet set) {
        return set.ranks().stream().mapToInt(Integer::intValue).sum();
    }

    @Test
    void membersAreNumberedAscendingAndKnowTheirSet() throws Exception {
        onAllOf(2, hvd -> {
            List<Integer> reversed = new ArrayList<>(odd(hvd));
            Collections.reverse(reversed);
            ProcessSet set = hvd.addProcessSet(reversed);

            assertThat(set.ranks()).isEqualTo(odd(hvd));
            assertThat(set.size()).isEqualTo(hvd.size() / 2);
            assertThat(set.included()).isEqualTo(hvd.rank() % 2 == 1);
            assertThat(set.id()).isPositive();
            assertThat(hvd.processSet(set.id())).isSameAs(set);
            assertThat(hvd.processSets()).containsEntry(0, hvd).containsEntry(set.id(), set);
            if (set.included()) {
                assertThat(set.rank()).isEqualTo(hvd.rank() / 2);
            }
            Tensor ids = hvd.allgather("set.ids", Tensor.of(set.id()));
            assertThat((int[]) ids.toArray()).as("all ranks call it the same").containsOnly(set.id());
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void everyCollectiveWorksAmongTheMembers() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            if (set.included()) {
                int n = set.size();
                int self = set.rank();
                for (DType type : DType.values()) {
                    Tensor sum = set.allreduce("s." + type, Values.ramp(type, 5_001, self), SUM);
                    assertThat(sum.toFloatArray()).isEqualTo(Values.expected(type, 5_001, n, ReduceOp.SUM));
                }
                Tensor mean = set.allreduce("s.mean", Tensor.of((float) hvd.rank()));
                assertThat(mean.item()).isEqualTo(sumOf(set) / n);
                Tensor all = set.allgather("s.gather", Tensor.of(hvd.rank()));
                assertThat((int[]) all.toArray())
                        .containsExactly(
                                set.ranks().stream().mapToInt(Integer::intValue).toArray());
                List<Tensor> group =
                        set.groupedAllreduce("s.group", List.of(Tensor.of(1f), Tensor.of((float) hvd.rank())), SUM);
                assertThat(group.get(1).item()).isEqualTo(sumOf(set));
                List<Tensor> gathered =
                        set.groupedAllgather("s.ggather", List.of(Tensor.of(1f), Tensor.of(hvd.rank(), self)));
                assertThat(gathered.get(1).elements()).isEqualTo(2L * n);
                float[] mine = new float[n];
                Arrays.fill(mine, hvd.rank());
                assertThat(set.reducescatter("s.rs", Tensor.of(mine), SUM).item())
                        .isEqualTo(sumOf(set));
                assertThat(set.groupedReducescatter("s.grs", List.of(Tensor.of(mine)), SUM)
                                .get(0)
                                .item())
                        .isEqualTo(sumOf(set));
                Tensor exchanged = set.alltoall("s.a2a", Tensor.of(mine)).output();
                assertThat(exchanged.toFloatArray()).containsExactly(floats(set.ranks()));
            }
            requireUsable(hvd, "set.collectives");
            hvd.removeProcessSet(set);
            return null;
        });
    }

    private static float[] floats(List<Integer> ranks) {
        float[] values = new float[ranks.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = ranks.get(i);
        }
        return values;
    }

    /** Roots are global ranks, and one that is no member is refused by name. */
    @Test
    void rootsAndPeersAreGlobalRanks() throws Exception {
        onAllOf(4, hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(1, 3));
            if (set.included()) {
                Tensor mine = Tensor.of((float) hvd.rank());
                assertThat(set.broadcast("root", mine, 3).item()).isEqualTo(3);
                assertThatThrownBy(() -> set.broadcast("root", mine, 0))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("root", "root rank 0", "[1, 3]", "process set " + set.id());
                Tensor sum = set.reduce("root.reduce", mine, SUM, 3);
                Tensor rows = set.gather("root.gather", mine, 3);
                Tensor part = set.scatter("root.scatter", hvd.rank() == 3 ? Tensor.of(10f, 30f) : null, 3);
                assertThat(part.item()).isEqualTo(10f * hvd.rank());
                if (hvd.rank() == 3) {
                    assertThat(sum.item()).isEqualTo(4);
                    assertThat(rows.toFloatArray()).containsExactly(1, 3);
                    set.send(mine, 1, 0);
                } else {
                    assertThat(set.receive(Tensor.of(0f), 3, 0).item()).isEqualTo(3);
                }
                assertThatThrownBy(() -> set.sendAsync(mine, 2, 0)).hasMessageContainingAll("rank 2", "[1, 3]");
            }
            requireUsable(hvd, "root");
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void objectsAndParametersTravelAmongTheMembers() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            if (set.included()) {
                int root = set.ranks().get(set.size() - 1);
                assertThat(set.broadcastObject("set.object", "rank " + hvd.rank(), ObjectCodec.utf8(), root))
                        .isEqualTo("rank " + root);
                assertThat(set.allgatherObject("set.objects", "r".repeat(hvd.rank()), ObjectCodec.utf8()))
                        .isEqualTo(set.ranks().stream().map("r"::repeat).toList());
                float[] weights = {hvd.rank()};
                set.broadcastParameters(Map.of("w", Tensor.of(weights)), root);
                assertThat(weights).containsExactly(root);
            }
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void theMembersBarrierWaitsForNobodyElse() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            if (set.included()) {
                set.barrier();
                // Rank 0 waits for this word, so it cannot have come to the barrier.
            }
            assertThat(hvd.broadcast("set.barrier", Tensor.of(hvd.rank()), 1).item())
                    .isEqualTo(1);
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void whoIsNoMemberIsRefusedByEveryCallAndTheMembersAreNamed() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            if (!set.included()) {
                Tensor one = Tensor.of(1f);
                List<ThrowingCallable> calls = List.of(
                        () -> set.allreduce("x", one),
                        () -> set.groupedAllreduce("x", List.of(one), SUM),
                        () -> set.allgather("x", one),
                        () -> set.broadcast("x", one, 1),
                        () -> set.alltoall("x", Tensor.of(new float[set.size()])),
                        () -> set.reducescatter("x", one, SUM),
                        () -> set.reduce("x", one, SUM, 1),
                        () -> set.gather("x", one, 1),
                        () -> set.scatter("x", one, 1),
                        set::barrier,
                        set::join,
                        set::rank);
                for (ThrowingCallable call : calls) {
                    assertThatThrownBy(call)
                            .isInstanceOf(HvdException.class)
                            .hasMessageContainingAll(
                                    "rank " + hvd.rank(), "not in process set " + set.id(), odd(hvd).toString());
                }
            }
            requireUsable(hvd, "set.outside");
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void theSameNameInTwoSetsIsTwoOperations() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            for (int step = 0; step < 12; step++) {
                Handle all = hvd.allreduceAsync("same", Tensor.of(1f), SUM);
                if (set.included()) {
                    Handle some = set.allreduceAsync("same", Tensor.of(2.0, 3.0), SUM);
                    assertThat(some.synchronize().toFloatArray()).containsExactly(2 * set.size(), 3 * set.size());
                }
                assertThat(all.synchronize().item()).isEqualTo(hvd.size());
            }
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void overlappingSetsWorkAtTheSameTimeInAnyOrder() throws Exception {
        onAllOf(3, hvd -> {
            List<ProcessSet> sets = List.of(
                    hvd.addProcessSet(List.of(0, 1)),
                    hvd.addProcessSet(List.of(1, 2)),
                    hvd.addProcessSet(List.of(0, 2)),
                    hvd);
            for (int round = 0; round < 15; round++) {
                List<Handle> handles = new ArrayList<>();
                List<Float> expected = new ArrayList<>();
                for (int i = 0; i < 12; i++) {
                    int turned = (i * 5 + hvd.rank() * 7 + round) % 12;
                    ProcessSet set = sets.get(turned % 4);
                    if (set.included()) {
                        Tensor tensor = Tensor.of((float) hvd.rank() + turned);
                        handles.add(set.allreduceAsync("overlap." + turned, tensor, SUM));
                        expected.add(sumOf(set) + turned * set.size());
                    }
                }
                for (int i = 0; i < handles.size(); i++) {
                    assertThat(handles.get(i).synchronize().item()).isEqualTo(expected.get(i));
                }
            }
            for (ProcessSet set : sets.subList(0, 3)) {
                hvd.removeProcessSet(set);
            }
            return null;
        });
    }

    @Test
    void aMismatchInASetNamesGlobalRanksAndOnlyTheMembersHearOfIt() throws Exception {
        onAllOf(4, hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(1, 3));
            if (set.included()) {
                assertThatThrownBy(() -> set.allreduce("set.odd", Tensor.of(new float[hvd.rank()])))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("\"set.odd\"", "[1] on ranks {1}", "[3] on ranks {3}");
                assertThatThrownBy(() -> set.broadcast("set.roots", Tensor.of(1f), hvd.rank()))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("root rank", "1 on ranks {1}", "3 on ranks {3}");
                requireUsable(set, "set.odd");
            }
            requireUsable(hvd, "set.odd");
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void aSetThatHasBeenRemovedRefusesEverythingAndItsRanksMayFormANewOne() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet set = hvd.addProcessSet(odd(hvd));
            hvd.removeProcessSet(set);
            assertThatThrownBy(() -> set.allreduce("gone", Tensor.of(1f)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("process set " + set.id(), "removed");
            assertThatThrownBy(() -> hvd.processSet(set.id()))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("process set " + set.id(), "not registered");
            assertThatThrownBy(() -> hvd.removeProcessSet(set))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("process set " + set.id(), "not registered");
            ProcessSet again = hvd.addProcessSet(odd(hvd));
            assertThat(again.id()).isNotEqualTo(set.id());
            if (again.included()) {
                requireUsable(again, "again");
            }
            hvd.removeProcessSet(again);
            return null;
        });
    }

    @Test
    void whatARemovedSetStillWaitsForFails() throws Exception {
        onAllOf(3, hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(0, 2));
            Handle lonely = hvd.rank() == 2 ? set.allreduceAsync("lonely", Tensor.of(1f), SUM) : null;
            Handle shared = set.included() ? set.allreduceAsync("shared", Tensor.of(1f), SUM) : null;
            hvd.removeProcessSet(set);
            if (lonely != null) {
                assertThatThrownBy(lonely::synchronize)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("process set " + set.id(), "removed");
            }
            if (shared != null) {
                assertThat(shared.synchronize().item())
                        .as("all its members had asked for it")
                        .isEqualTo(2);
            }
            requireUsable(hvd, "lonely");
            return null;
        });
    }

    @Test
    void setsOfNobodyOfStrangersOrThatExistAreRefused() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            refused(() -> hvd.addProcessSet(List.of()), "no member");
            refused(() -> hvd.addProcessSet(List.of(0, n)), "rank " + n, "[0, " + (n - 1) + "]");
            refused(() -> hvd.addProcessSet(List.of(-1)), "rank -1");
            refused(() -> hvd.addProcessSet(List.of(0, 0)), "rank 0", "twice");
            refused(() -> hvd.addProcessSet(IntStream.range(0, n).boxed().toList()), "already", "number 0");
            refused(() -> hvd.removeProcessSet(hvd), "process set 0", "all ranks");
            refused(() -> hvd.processSet(1_000_000), "process set 1000000", "not registered");
            if (n > 1) {
                ProcessSet set = hvd.addProcessSet(List.of(0));
                refused(() -> hvd.addProcessSet(List.of(0)), "already", "{0}", "number " + set.id());
                hvd.removeProcessSet(set);
            }
            requireUsable(hvd, "strangers");
            return null;
        });
    }

    private static void refused(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call).isInstanceOf(HvdException.class).hasMessageContainingAll(facts);
    }

    @Test
    void ranksThatNameDifferentMembersAreAllTold() throws Exception {
        onAllOf(2, hvd -> {
            int odd = hvd.size() - 1;
            assertThatThrownBy(() -> hvd.addProcessSet(List.of(hvd.rank() == odd ? 1 : 0)))
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContainingAll("members", "[0]", "[1] on ranks {" + odd + "}");
            requireUsable(hvd, "members");
            return null;
        });
    }

    @Test
    void setsMayComeAndGoManyTimesWhileOthersWork() throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet lasting = hvd.addProcessSet(List.of(0));
            for (int round = 0; round < 20; round++) {
                Handle running = hvd.allreduceAsync("running", Tensor.of(1f), SUM);
                ProcessSet set = hvd.addProcessSet(odd(hvd));
                if (set.included()) {
                    assertThat(sum(set, "round", hvd.rank())).isEqualTo(sumOf(set));
                }
                if (lasting.included()) {
                    assertThat(sum(lasting, "lasting", 5)).isEqualTo(5);
                }
                hvd.removeProcessSet(set);
                assertThat(running.synchronize().item()).isEqualTo(hvd.size());
            }
            hvd.removeProcessSet(lasting);
            return null;
        });
    }

    /** Two models at a time, as with an optimizer for each of two sets that share a rank. */
    @Test
    void twoSetsTrainBesideEachOtherWithAnotherNumberOfSteps() throws Exception {
        onAllOf(3, hvd -> {
            ProcessSet first = hvd.addProcessSet(List.of(0, 1));
            ProcessSet second = hvd.addProcessSet(List.of(1, 2));
            for (int step = 0; step < 30; step++) {
                train(first, step);
                if (step % 2 == 0) {
                    train(second, step);
                }
            }
            requireUsable(hvd, "training");
            hvd.removeProcessSet(second);
            hvd.removeProcessSet(first);
            return null;
        });
    }

    private static void train(ProcessSet set, int step) {
        if (!set.included()) {
            return;
        }
        List<Handle> gradients = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int turned = (i + set.rank() * 3) % 6;
            Tensor gradient = Values.tensor(DType.FLOAT32, Shape.of(turned), at -> step + set.rank());
            gradients.add(set.allreduceInPlaceAsync("gradient." + turned, gradient, AllreduceOptions.average()));
        }
        for (int i = 0; i < 6; i++) {
            int turned = (i + set.rank() * 3) % 6;
            float[] expected = new float[turned];
            Arrays.fill(expected, step + (set.size() - 1) / 2f);
            assertThat(gradients.get(i).synchronize().toFloatArray()).containsExactly(expected, ROUNDED);
        }
    }
}
