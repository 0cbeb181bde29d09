package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tensors that travel together or not at all. */
public class GroupContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private static List<Tensor> everyType(int size, int rank) {
        return Arrays.stream(DType.values())
                .map(type -> Values.ramp(type, size, rank))
                .toList();
    }

    @Test
    void aGroupOfEveryTypeAndSizeIsReduced() throws Exception {
        onAll(hvd -> {
            for (int size : new int[] {0, 1, 7, 70_001}) {
                boolean large = size > 7; // no operation knows how long a tensor is
                for (ReduceOp op : large ? List.of(ReduceOp.SUM) : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)) {
                    List<Tensor> inputs = everyType(size, hvd.rank());
                    List<Tensor> outputs = hvd.groupedAllreduce("g." + size + op, inputs, AllreduceOptions.of(op));
                    for (DType type : DType.values()) {
                        assertThat(outputs.get(type.ordinal()).toFloatArray())
                                .as("%s %s %s", size, op, type)
                                .isEqualTo(Values.expected(type, size, hvd.size(), op));
                        assertThat(inputs.get(type.ordinal()).toFloatArray())
                                .as("the input stays")
                                .isEqualTo(Values.ramp(type, size, hvd.rank()).toFloatArray());
                    }
                }
            }
            return null;
        });
    }

    @Test
    void aGroupIsAveragedScaledAndCompressed() throws Exception {
        onAll(hvd -> {
            List<Tensor> inputs = List.of(Tensor.of((float) hvd.rank()), Tensor.of(2.0 * hvd.rank()), Tensor.of(3));
            float mean = (hvd.size() - 1) / 2f;
            List<Tensor> means = hvd.groupedAllreduce("g.mean", inputs, AllreduceOptions.average());
            assertThat(means.get(0).item()).isCloseTo(mean, ROUNDED);
            assertThat(means.get(1).item()).isCloseTo(2 * mean, ROUNDED);
            assertThat(means.get(2).item()).isEqualTo(3);
            AllreduceOptions scaled = SUM.withPrescale(2).withPostscale(4).withCompression(Compression.FP16);
            assertThat(hvd.groupedAllreduce("g.scaled", inputs, scaled).get(0).item())
                    .isEqualTo(8 * mean * hvd.size());
            return null;
        });
    }

    @Test
    void inPlaceOverwritesEveryTensorOfTheGroup() throws Exception {
        onAll(hvd -> {
            List<Tensor> tensors = List.of(Tensor.of(1f, 2f), Tensor.of(hvd.rank()));
            hvd.groupedAllreduceInPlace("g.place", tensors, SUM);
            int n = hvd.size();
            assertThat(tensors.get(0).toFloatArray()).containsExactly(n, 2 * n);
            assertThat(tensors.get(1).item()).isEqualTo(n * (n - 1) / 2f);
            return null;
        });
    }

    @Test
    void groupsSubmittedInDifferentOrdersFindEachOther() throws Exception {
        onAll(hvd -> {
            List<Integer> order = new ArrayList<>(IntStream.range(0, 12).boxed().toList());
            Collections.rotate(order, 5 * hvd.rank());
            List<List<Handle>> handles = new ArrayList<>(Collections.nCopies(12, null));
            for (int group : order) {
                List<Tensor> members = new ArrayList<>();
                for (int i = 0; i <= group % 4; i++) {
                    members.add(Tensor.of((float) group, i, hvd.rank()));
                }
                handles.set(group, hvd.groupedAllreduceAsync("g.order." + group, members, SUM));
            }
            int n = hvd.size();
            for (int group = 0; group < 12; group++) {
                for (int i = 0; i <= group % 4; i++) {
                    Handle handle = handles.get(group).get(i);
                    assertThat(handle.name()).isEqualTo("g.order." + group + "." + i);
                    assertThat(handle.synchronize().toFloatArray()).containsExactly(n * group, n * i, n * (n - 1) / 2f);
                }
            }
            return null;
        });
    }

    @Test
    void groupsWithoutNamesAreMatchedByTheirOrder() throws Exception {
        onAll(hvd -> {
            for (int i = 0; i < 3; i++) {
                List<Tensor> sums = hvd.groupedAllreduce(null, List.of(Tensor.of((float) i), Tensor.of(10f * i)), SUM);
                assertThat(sums.get(0).item()).isEqualTo(i * hvd.size());
                assertThat(sums.get(1).item()).isEqualTo(10f * i * hvd.size());
            }
            assertThat(hvd.groupedAllreduce(null, List.of(), SUM)).isEmpty();
            return null;
        });
    }

    /** Else the next group would have another number on that rank. */
    @Test
    void aGroupThatOneRankAloneCallsWronglyDoesNotCount() throws Exception {
        onAllOf(2, hvd -> {
            Tensor number = Tensor.of(1f);
            Tensor truth = Tensor.copyOf(true);
            if (hvd.rank() == 1) {
                assertThatThrownBy(() -> hvd.groupedAllreduce(null, List.of(number, truth), AllreduceOptions.average()))
                        .isInstanceOf(HvdException.class);
                assertThatThrownBy(() ->
                                hvd.groupedAllgather(null, List.of(number, Tensor.zeros(DType.FLOAT32, Shape.of()))))
                        .isInstanceOf(HvdException.class);
            }
            assertThat(hvd.groupedAllreduce(null, List.of(number), SUM).get(0).item())
                    .isEqualTo(hvd.size());
            assertThat(hvd.groupedAllgather(null, List.of(number)).get(0).elements())
                    .isEqualTo(hvd.size());
            return null;
        });
    }

    @Test
    void aGroupIsGatheredWithOtherNumbersOfRowsOnEveryRank() throws Exception {
        onAll(hvd -> {
            List<Tensor> mine = Arrays.stream(DType.values())
                    .map(type -> Values.rows(type, hvd.rank() + type.ordinal() % 2, 2, hvd.rank()))
                    .toList();
            List<Tensor> all = hvd.groupedAllgather("g.gather", mine);
            for (DType type : DType.values()) {
                List<Float> expected = new ArrayList<>();
                for (int rank = 0; rank < hvd.size(); rank++) {
                    float[] part = Values.rows(type, rank + type.ordinal() % 2, 2, rank)
                            .toFloatArray();
                    IntStream.range(0, part.length).forEach(i -> expected.add(part[i]));
                }
                float[] found = all.get(type.ordinal()).toFloatArray();
                assertThat(found).hasSize(expected.size());
                for (int i = 0; i < found.length; i++) {
                    assertThat(found[i]).as("%s at %s", type, i).isEqualTo(expected.get(i));
                }
            }
            return null;
        });
    }

    @Test
    void aGroupIsScatteredAveragedAndScaled() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            float[] ones = new float[n];
            Arrays.fill(ones, hvd.rank() + 1);
            double[] more = new double[2 * n];
            Arrays.fill(more, 10 * (hvd.rank() + 1));
            List<Tensor> tensors = List.of(Tensor.of(ones), Tensor.of(more));
            float sum = n * (n + 1) / 2f;
            List<Tensor> sums = hvd.groupedReducescatter("g.rs", tensors, SUM);
            assertThat(sums.get(0).toFloatArray()).containsExactly(sum);
            assertThat(sums.get(1).toFloatArray()).containsExactly(10 * sum, 10 * sum);
            AllreduceOptions mean = AllreduceOptions.average().withPrescale(2).withPostscale(4);
            List<Tensor> means = hvd.groupedReducescatter("g.rs.mean", tensors, mean);
            assertThat(means.get(0).item()).isCloseTo(8 * sum / n, ROUNDED);
            return null;
        });
    }

    @Test
    void scalarsAndOtherOperationsAreRefusedAtTheCallAndNothingOfTheGroupStarts() throws Exception {
        onAll(hvd -> {
            Tensor scalar = Tensor.wrap(new float[1], DType.FLOAT32, Shape.scalar());
            List<Tensor> tensors = List.of(Tensor.of(1f), scalar);
            assertThatThrownBy(() -> hvd.groupedReducescatter("g.scalar", tensors, SUM))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("g.scalar", "scalar");
            assertThatThrownBy(() -> hvd.groupedAllgather("g.scalar", tensors))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("g.scalar", "scalar");
            assertThatThrownBy(() -> hvd.groupedReducescatter(
                            "g.max", List.of(Tensor.of(1f)), AllreduceOptions.of(ReduceOp.MAX)))
                    .hasMessageContainingAll("g.max", "MAX");
            assertThat(sum(hvd, "g.scalar.0", 1)).isEqualTo(hvd.size());
            return null;
        });
    }

    @Test
    void tensorsOnDifferentDevicesAreRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            Tensor there = Tensor.onDevice(4096, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1));
            assertThatThrownBy(() -> hvd.groupedAllreduceInPlace("g.devices", List.of(Tensor.of(1f), there), SUM))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("g.devices", "different devices", "cpu", "cuda:0");
            requireUsable(hvd, "g.devices");
            return null;
        });
    }

    @Test
    void oneTensorThatDiffersFailsTheWholeGroupOnAllRanks() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(new float[odd ? 3 : 2]), Tensor.of(1));
            requireAllRefused(
                    hvd.groupedAllreduceAsync("g.odd", tensors, SUM),
                    "\"g.odd.1\"",
                    "[3] on ranks {" + (hvd.size() - 1) + "}");
            requireUsableGroup(hvd, "g.odd");
            return null;
        });
    }

    @Test
    void groupsOfDifferentSizesFailWhollyOnAllRanks() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            for (int round = 0; round < 2; round++) {
                // In both rounds somebody has a tensor that nobody else has; once the last rank, once the others.
                List<Tensor> two = List.of(Tensor.of(1f), Tensor.of(2f));
                List<Tensor> three = List.of(Tensor.of(1f), Tensor.of(2f), Tensor.of(3f));
                List<Tensor> mine = odd == (round == 0) ? three : two;
                requireAllRefused(hvd.groupedAllreduceAsync("g.sizes", mine, SUM), "\"g.sizes\" of 2", "of 3");
            }
            requireUsableGroup(hvd, "g.sizes");
            return null;
        });
    }

    @Test
    void aTensorAloneAgainstAGroupFailsBothOnAllRanks() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            for (int round = 0; round < 2; round++) {
                boolean alone = odd == (round == 0);
                List<Handle> handles = alone
                        ? List.of(hvd.allreduceAsync("g.alone.1", Tensor.of(1f), SUM))
                        : hvd.groupedAllreduceAsync("g.alone", List.of(Tensor.of(1f), Tensor.of(1f)), SUM);
                requireAllRefused(handles, "\"g.alone.1\"", "group", "none on", "\"g.alone\" of 2 on");
            }
            requireUsableGroup(hvd, "g.alone");
            return null;
        });
    }

    @Test
    void groupsOfDifferentOperationsFailWhollyOnAllRanks() throws Exception {
        onAllOf(2, hvd -> {
            List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(2f));
            List<Handle> handles = hvd.rank() == hvd.size() - 1
                    ? hvd.groupedAllgatherAsync("g.kinds", tensors)
                    : hvd.groupedReducescatterAsync("g.kinds", tensors, SUM);
            requireAllRefused(handles, "operation", "allgather", "reducescatter");
            requireUsableGroup(hvd, "g.kinds");
            return null;
        });
    }

    @Test
    void aGroupWithANameInProgressStartsNothing() throws Exception {
        onAllOf(2, hvd -> {
            Handle first = null;
            List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(1f));
            if (hvd.rank() == 0) {
                first = hvd.allreduceAsync("g.taken.1", Tensor.of(1f), SUM);
                assertThatThrownBy(() -> hvd.groupedAllreduceAsync("g.taken", tensors, SUM))
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContaining("\"g.taken.1\"");
            }
            hvd.broadcast("g.taken.go", Tensor.of(1f), 0);
            first = first == null ? hvd.allreduceAsync("g.taken.1", Tensor.of(1f), SUM) : first;
            assertThat(first.synchronize().item()).isEqualTo(hvd.size());
            assertThat(hvd.groupedAllreduce("g.taken", tensors, SUM)).hasSize(2);
            return null;
        });
    }

    private static void requireAllRefused(List<Handle> handles, String... facts) {
        for (Handle handle : handles) {
            assertThatThrownBy(handle::synchronize)
                    .as(handle.name())
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContainingAll(facts);
        }
    }

    private static void requireUsableGroup(HvdContext hvd, String name) {
        List<Tensor> sums = hvd.groupedAllreduce(name, List.of(Tensor.of(1f), Tensor.of(2f), Tensor.of(3f)), SUM);
        assertThat(sums.get(2).item()).isEqualTo(3 * hvd.size());
        requireUsable(hvd, name);
    }
}
