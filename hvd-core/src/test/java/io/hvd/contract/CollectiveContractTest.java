package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The collectives of every back end, with any number of ranks. Each test is run by all ranks at the same
 * time; its inputs depend on the rank.
 */
public class CollectiveContractTest extends Contract {
    /** Longer than a busy machine takes to bring a rank's request to rank 0. */
    private static final Duration LATE = Duration.ofMillis(500);

    /** The system property that says on how many hosts the ranks are. */
    public static final String HOSTS = "hvd.test.hosts";

    /** Nothing, one, odd, more than a conversion block, more than a stage of any back end. */
    private static final int[] SIZES = {0, 1, 7, 5_001, 1_300_003};

    @Test
    void ranksAreNumberedAndCountedByHost() throws Exception {
        onAll(hvd -> {
            Tensor all = hvd.allgather("ranks", Tensor.of(hvd.rank()));
            List<List<Integer>> byHost = byHost(hvd.hosts());
            List<Integer> here = byHost.stream()
                    .filter(ranks -> ranks.contains(hvd.rank()))
                    .findFirst()
                    .orElseThrow();
            int local = here.indexOf(hvd.rank());
            List<List<Integer>> across =
                    byHost.stream().filter(ranks -> ranks.size() > local).toList();

            assertThat((int[]) all.toArray())
                    .isEqualTo(IntStream.range(0, hvd.size()).toArray());
            assertThat(byHost).hasSize(Integer.getInteger(HOSTS, 1));
            assertThat(hvd.localRank()).isEqualTo(local);
            assertThat(hvd.localSize()).isEqualTo(here.size());
            assertThat(hvd.crossRank()).isEqualTo(across.indexOf(here));
            assertThat(hvd.crossSize()).isEqualTo(across.size());
            assertThat(hvd.isHomogeneous()).isEqualTo(byHost.stream().allMatch(ranks -> ranks.size() == here.size()));
            return null;
        });
    }

    private static List<List<Integer>> byHost(List<String> hosts) {
        return hosts.stream()
                .distinct()
                .map(host -> IntStream.range(0, hosts.size())
                        .filter(rank -> hosts.get(rank).equals(host))
                        .boxed()
                        .toList())
                .toList();
    }

    @Test
    void theCapabilitiesSayWhetherThisJobRunsOnMpi() throws Exception {
        boolean onMpi = ranks.onMpi();
        onAll(hvd -> {
            assertThat(Hvd.capabilities().mpiEnabled()).as(hvd.backend()).isEqualTo(onMpi);
            assertThat(Hvd.capabilities().mpiBuilt() || !onMpi)
                    .as("an MPI that is in use is there")
                    .isTrue();
            return null;
        });
    }

    /** Sums that must be rounded, of values from denormal to huge: whoever adds them up, the bits are the same. */
    @Test
    void whereATensorLiesChangesNoBitOfWhatComesOut() throws Exception {
        onAll(hvd -> {
            for (DType type : List.of(DType.FLOAT32, DType.FLOAT64)) {
                Tensor values = rounded(type, hvd.rank());
                for (AllreduceOptions how : List.of(
                        AllreduceOptions.sum(),
                        AllreduceOptions.average(),
                        AllreduceOptions.sum().withPostscale(1.0 / 3))) {
                    Tensor heap = hvd.allreduceInPlace("heap", copy(values, false), how);
                    Tensor direct = hvd.allreduceInPlace("direct", copy(values, true), how);
                    Tensor mixed = hvd.allreduceInPlace("mixed", copy(values, hvd.rank() % 2 == 0), how);

                    assertThat(direct.toArray()).as("%s %s", type, how).isEqualTo(heap.toArray());
                    assertThat(mixed.toArray()).as("%s %s", type, how).isEqualTo(heap.toArray());
                }
            }
            return null;
        });
    }

    private static Tensor rounded(DType type, int rank) {
        int count = 300_007;
        Random random = new Random(rank);
        ByteBuffer bytes = ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder());
        Tensor tensor = Tensor.wrap(bytes, type, Shape.of(count));
        for (int i = 0; i < count; i++) {
            int exponent = random.nextInt(16) == 0 ? -140 + random.nextInt(260) : 0;
            double value = (random.nextDouble() - 0.5) * Math.pow(2, exponent);
            if (type == DType.FLOAT32) {
                bytes.putFloat(i * Float.BYTES, (float) value);
            } else {
                bytes.putDouble(i * Double.BYTES, value);
            }
        }
        return tensor;
    }

    private static Tensor copy(Tensor values, boolean direct) {
        if (!direct) {
            return Tensor.wrap(values.toArray(), values.dtype(), values.shape());
        }
        ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(values.bytes()));
        Tensor copy = Tensor.wrap(bytes.order(ByteOrder.nativeOrder()), values.dtype(), values.shape());
        copy.copyFrom(values);
        return copy;
    }

    /** The number starts again wherever the ranks have joined. */
    @Test
    void anOperationWithoutANameGetsOneFromItsKindAndNumber() throws Exception {
        onAll(hvd -> {
            hvd.join();
            requireNamed(hvd.allreduceAsync(null, Tensor.of(1f), AllreduceOptions.sum()), "allreduce.noname.0");
            requireNamed(hvd.allreduceAsync(null, Tensor.of(1f), AllreduceOptions.sum()), "allreduce.noname.1");
            requireNamed(hvd.allgatherAsync(null, Tensor.of(1f)), "allgather.noname.0");
            requireNamed(hvd.broadcastAsync(null, Tensor.of(1f), 0), "broadcast.noname.0");
            requireNamed(hvd.allreduceAsync("own", Tensor.of(1f), AllreduceOptions.sum()), "own");
            return null;
        });
    }

    private static void requireNamed(Handle handle, String name) {
        assertThat(handle.name()).isEqualTo(name);
        assertThat(handle.synchronize().toFloatArray()).doesNotContain(0f);
    }

    @Test
    void floatsAreReducedByEveryOperation() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            float sum = n * (n - 1) / 2f;
            Map<ReduceOp, Float> expected = new EnumMap<>(Map.of(
                    ReduceOp.AVERAGE,
                    sum / n,
                    ReduceOp.SUM,
                    sum,
                    ReduceOp.MIN,
                    0f,
                    ReduceOp.MAX,
                    n - 1f,
                    ReduceOp.PRODUCT,
                    0f));
            expected.forEach((op, value) -> assertThat(reduce(hvd, "op." + op, Tensor.of((float) hvd.rank()), op)
                            .item())
                    .as(op.name())
                    .isCloseTo(value, ROUNDED));
            float factorial = IntStream.rangeClosed(1, n).asLongStream().reduce(1, (a, b) -> a * b);
            assertThat(reduce(hvd, "op.factorial", Tensor.of(hvd.rank() + 1f), ReduceOp.PRODUCT)
                            .item())
                    .isEqualTo(factorial);
            return null;
        });
    }

    @Test
    void theAverageOfIntegersIsCutOff() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            int sum = n * (n - 1) / 2;
            Tensor average = hvd.allreduce("int.average", Tensor.of(hvd.rank(), -hvd.rank()));

            assertThat((int[]) average.toArray()).containsExactly(sum / n, -sum / n);
            return null;
        });
    }

    /** Tensors of more than a stage are reduced by one operation for each type, in turns. */
    @Test
    void everyElementTypeAndSizeIsReduced() throws Exception {
        List<ReduceOp> ops = List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX);
        int largest = SIZES[SIZES.length - 1];
        onAll(hvd -> {
            for (DType type : DType.values()) {
                ReduceOp ofLargest = ops.get(type.ordinal() % ops.size());
                for (int size : SIZES) {
                    for (ReduceOp op : size == largest ? List.of(ofLargest) : ops) {
                        String name = "types." + type + "." + size + "." + op;
                        Tensor result = reduce(hvd, name, Values.ramp(type, size, hvd.rank()), op);
                        assertThat(result.toFloatArray())
                                .as(name)
                                .isEqualTo(Values.expected(type, size, hvd.size(), op));
                    }
                }
            }
            return null;
        });
    }

    /** MPI's Java bindings have no signed byte, for instance. */
    @Test
    void theSmallestAndTheLargestAreThoseOfTheTypesSign() throws Exception {
        onAll(hvd -> {
            int last = hvd.size() - 1;
            for (DType type : List.of(DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)) {
                boolean signed = type == DType.INT8 || type == DType.INT16;
                int rank0s = signed ? -1 : type.bytes() == 1 ? 255 : 65_535;
                for (ReduceOp op : List.of(ReduceOp.MIN, ReduceOp.MAX)) {
                    ByteBuffer bytes =
                            ByteBuffer.allocateDirect(2 * type.bytes()).order(ByteOrder.nativeOrder());
                    for (int i = 0; i < bytes.capacity(); i++) {
                        boolean low = i % type.bytes() == 0 == (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN);
                        bytes.put(i, (byte) (hvd.rank() == 0 ? -1 : low || type.bytes() == 1 ? hvd.rank() : 0));
                    }
                    Tensor tensor = Tensor.wrap(bytes, type, Shape.of(2));
                    hvd.allreduceInPlace("sign." + type + "." + op, tensor, AllreduceOptions.of(op));

                    float other = last == 0 ? rank0s : op == ReduceOp.MIN ? 1 : last;
                    float expected = op == ReduceOp.MIN ? Math.min(rank0s, other) : Math.max(rank0s, other);
                    assertThat(tensor.toFloatArray()).as("%s of %s", op, type).containsExactly(expected, expected);
                }
            }
            return null;
        });
    }

    @Test
    void outOfPlaceLeavesTheInputAndInPlaceOverwritesIt() throws Exception {
        onAll(hvd -> {
            float[] input = {hvd.rank() + 1};
            Tensor result = reduce(hvd, "place.out", Tensor.of(input), ReduceOp.SUM);
            assertThat(input[0]).isEqualTo(hvd.rank() + 1);

            Tensor same = Tensor.of(input);
            assertThat(hvd.allreduceInPlace("place.in", same, AllreduceOptions.sum()))
                    .isSameAs(same);
            assertThat(input[0]).isEqualTo(result.item());
            return null;
        });
    }

    @Test
    void directBuffersAndPartsOfArraysAreReducedWhereTheyLie() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            ByteBuffer direct = ByteBuffer.allocateDirect(4 * 3_000).order(ByteOrder.nativeOrder());
            for (int i = 0; i < 3_000; i++) {
                direct.putFloat(4 * i, hvd.rank() + i);
            }
            hvd.allreduceInPlace(
                    "memory.direct", Tensor.wrap(direct, DType.FLOAT32, Shape.of(30, 100)), AllreduceOptions.sum());
            assertThat(direct.getFloat(4 * 2_999)).isEqualTo(n * (n - 1) / 2f + 2_999f * n);

            float[] array = {100, hvd.rank(), hvd.rank(), 200};
            hvd.allreduceInPlace(
                    "memory.part", Tensor.wrap(array, 1, 2, DType.FLOAT32, Shape.of(2)), AllreduceOptions.sum());
            assertThat(array).containsExactly(100, n * (n - 1) / 2f, n * (n - 1) / 2f, 200);
            return null;
        });
    }

    @Test
    void factorsApplyBeforeAndAfterTheReduction() throws Exception {
        onAll(hvd -> {
            float sum = hvd.size() * (hvd.size() - 1) / 2f;
            AllreduceOptions options = AllreduceOptions.sum().withPrescale(2).withPostscale(0.5);
            assertThat(hvd.allreduce("scale", Tensor.of((float) hvd.rank()), options)
                            .item())
                    .isEqualTo(sum);
            AllreduceOptions max = AllreduceOptions.of(ReduceOp.MAX).withPrescale(-1);
            assertThat(hvd.allreduce("scale.max", Tensor.of((float) hvd.rank()), max)
                            .item())
                    .isEqualTo(-0f);
            return null;
        });
    }

    @Test
    void compressedFloatsTravelAsHalvesAndKeepTheirType() throws Exception {
        onAll(hvd -> {
            for (Compression kind : List.of(Compression.FP16, Compression.BF16)) {
                AllreduceOptions options = AllreduceOptions.average().withCompression(kind);
                Tensor floats = hvd.allreduce("half.float." + kind, Tensor.of(1.5f, hvd.rank()), options);
                assertThat(floats.dtype()).isEqualTo(DType.FLOAT32);
                assertThat(floats.toFloatArray()[0]).isCloseTo(1.5f, ROUNDED);
                Tensor doubles = hvd.allreduce("half.double." + kind, Tensor.of(0.25, 1.0), options);
                assertThat(doubles.toFloatArray()).containsExactly(new float[] {0.25f, 1}, ROUNDED);
                Tensor ints = hvd.allreduce("half.int." + kind, Tensor.of(70_001), options);
                assertThat((int[]) ints.toArray())
                        .as("integers are not converted")
                        .containsExactly(70_001);
            }
            return null;
        });
    }

    @Test
    void halfPrecisionOverflowsUnlessDividedBefore() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            AllreduceOptions fp16 = AllreduceOptions.average().withCompression(Compression.FP16);
            float large = hvd.allreduce("half.large", Tensor.of(30_000f), fp16).item();
            assertThat(large).isEqualTo(n * 30_000f > 65_504 ? Float.POSITIVE_INFINITY : 30_000f);
            float divided = hvd.allreduce(
                            "half.divided",
                            Tensor.of(30_000f),
                            fp16.withPrescale(1.0 / n).withPostscale(n))
                    .item();
            assertThat(divided).isBetween(29_960f, 30_040f);
            float tiny = hvd.allreduce("half.tiny", Tensor.of(1e-7f), fp16).item();
            assertThat(tiny).isEqualTo(1.1920929e-7f, org.assertj.core.data.Offset.offset(1e-13f));
            return null;
        });
    }

    @Test
    void manyTensorsSubmittedInDifferentOrdersFindEachOther() throws Exception {
        onAll(hvd -> {
            List<Integer> order = new ArrayList<>(IntStream.range(0, 60).boxed().toList());
            java.util.Collections.rotate(order, 7 * hvd.rank());
            Map<Integer, Handle> handles = new TreeMap<>();
            for (int i : order) {
                Tensor tensor = Tensor.of(new float[100 + i]);
                Arrays.fill(((float[]) ((io.hvd.tensor.HeapMemory) tensor.memory()).array()), i + hvd.rank());
                handles.put(i, hvd.allreduceInPlaceAsync("many." + i, tensor, AllreduceOptions.sum()));
            }
            int n = hvd.size();
            handles.forEach((i, handle) -> assertThat(handle.synchronize().toFloatArray())
                    .hasSize(100 + i)
                    .containsOnly(n * i + n * (n - 1) / 2f));
            return null;
        });
    }

    @Test
    void tensorsSubmittedTogetherComeBackTogether() throws Exception {
        onAll(hvd -> {
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            for (int i = 0; i < 20; i++) {
                tensors.put("together." + i, Tensor.of(new float[] {i, hvd.rank()}));
            }
            hvd.allreduceInPlaceAsync(tensors, AllreduceOptions.average()).forEach(Handle::synchronize);
            for (int i = 0; i < 20; i++) {
                assertThat(tensors.get("together." + i).toFloatArray())
                        .containsExactly(new float[] {i, (hvd.size() - 1) / 2f}, ROUNDED);
            }
            return null;
        });
    }

    @Test
    void operationsWithoutNamesAreMatchedByTheirOrder() throws Exception {
        onAll(hvd -> {
            for (int i = 0; i < 3; i++) {
                assertThat(reduce(hvd, null, Tensor.of((float) i), ReduceOp.SUM).item())
                        .isEqualTo(i * hvd.size());
            }
            return null;
        });
    }

    @Test
    void allgatherConcatenatesRowsThatMayDifferInNumber() throws Exception {
        onAll(hvd -> {
            for (DType type : List.of(DType.FLOAT32, DType.INT64, DType.BFLOAT16, DType.UINT8)) {
                int rows = hvd.rank() + 1;
                Tensor mine = Tensor.zeros(type, Shape.of(rows, 3));
                Tensor all = hvd.allgather("gather." + type, mine);
                int n = hvd.size();
                assertThat(all.shape()).isEqualTo(Shape.of(n * (n + 1) / 2, 3));
            }
            float[] own = new float[hvd.rank() == 0 ? 0 : 2 * hvd.rank()];
            Arrays.fill(own, hvd.rank());
            float[] all = hvd.allgather("gather.values", Tensor.wrap(own, DType.FLOAT32, Shape.of(hvd.rank(), 2)))
                    .toFloatArray();
            int at = 0;
            for (int rank = 0; rank < hvd.size(); rank++) {
                for (int i = 0; i < 2 * rank; i++) {
                    assertThat(all[at++]).isEqualTo(rank);
                }
            }
            assertThat(all).hasSize(at);
            return null;
        });
    }

    @Test
    void allgatherCarriesMoreThanAStage() throws Exception {
        onAll(hvd -> {
            int rows = 700_001 + hvd.rank();
            float[] own = new float[rows];
            Arrays.fill(own, hvd.rank() + 0.5f);
            float[] all = hvd.allgather("gather.large", Tensor.of(own)).toFloatArray();
            int at = 0;
            for (int rank = 0; rank < hvd.size(); rank++) {
                assertThat(all[at]).isEqualTo(rank + 0.5f);
                at += 700_001 + rank;
                assertThat(all[at - 1]).isEqualTo(rank + 0.5f);
            }
            assertThat(all).hasSize(at);
            return null;
        });
    }

    @Test
    void allgatherCarriesOneRowBesideManyStages() throws Exception {
        onAll(hvd -> {
            float[] own = new float[hvd.rank() == 0 ? 1 : 1_500_000];
            Arrays.fill(own, hvd.rank() + 0.5f);
            float[] all = hvd.allgather("gather.uneven", Tensor.of(own)).toFloatArray();
            assertThat(all).hasSize(1 + (hvd.size() - 1) * 1_500_000);
            assertThat(all[0]).isEqualTo(0.5f);
            assertThat(all[all.length - 1]).isEqualTo(hvd.size() - 0.5f);
            return null;
        });
    }

    @Test
    void largeTensorsMayLieInDifferentMemoryOnEveryRank() throws Exception {
        onAll(hvd -> {
            int count = 1_300_003;
            Tensor tensor = Values.ramp(DType.FLOAT32, count, hvd.rank());
            if (hvd.rank() % 2 == 0) {
                ByteBuffer direct = ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder());
                Tensor moved = Tensor.wrap(direct, DType.FLOAT32, Shape.of(count));
                moved.copyFrom(tensor);
                tensor = moved;
            }
            hvd.allreduceInPlace("memory.mixed", tensor, AllreduceOptions.sum());
            assertThat(tensor.toFloatArray())
                    .isEqualTo(Values.expected(DType.FLOAT32, count, hvd.size(), ReduceOp.SUM));
            return null;
        });
    }

    @Test
    void allgatherOfAScalarIsRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            Tensor scalar = Tensor.wrap(new float[1], DType.FLOAT32, Shape.scalar());
            assertThatThrownBy(() -> hvd.allgather("gather.scalar", scalar))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("gather.scalar")
                    .hasMessageContaining("scalar");
            return null;
        });
    }

    @Test
    void broadcastGivesEveryRankTheRootsValues() throws Exception {
        onAll(hvd -> {
            for (int root = 0; root < hvd.size(); root++) {
                for (int size : SIZES) {
                    Tensor mine = Values.ramp(DType.FLOAT32, size, hvd.rank());
                    Tensor result = hvd.broadcast("broadcast." + root + "." + size, mine, root);
                    assertThat(result.toFloatArray())
                            .isEqualTo(Values.ramp(DType.FLOAT32, size, root).toFloatArray());
                    assertThat(mine.toFloatArray())
                            .as("the input stays")
                            .isEqualTo(
                                    Values.ramp(DType.FLOAT32, size, hvd.rank()).toFloatArray());
                    hvd.broadcastInPlace("broadcast.in." + root + "." + size, mine, root);
                    assertThat(mine.toFloatArray()).isEqualTo(result.toFloatArray());
                }
            }
            return null;
        });
    }

    @Test
    void broadcastFromNobodyIsRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            assertThatThrownBy(() -> hvd.broadcast("broadcast.nobody", Tensor.of(1f), hvd.size()))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("broadcast.nobody")
                    .hasMessageContaining("root rank " + hvd.size())
                    .hasMessageContaining(hvd.ranks().toString());
            return null;
        });
    }

    @Test
    void barrierOpensOnlyWhenAllHaveCome() throws Exception {
        onAll(hvd -> {
            if (hvd.rank() == 0) {
                Handle barrier = hvd.barrierAsync();
                if (hvd.size() > 1) {
                    assertThat(barrier.poll())
                            .as("open before the others have come")
                            .isFalse();
                }
                hvd.broadcast("barrier.go", Tensor.of(1f), 0);
                barrier.synchronize();
            } else {
                hvd.broadcast("barrier.go", Tensor.of(0f), 0);
                hvd.barrier();
            }
            hvd.barrier();
            return null;
        });
    }

    @Test
    void objectsOfDifferentSizesAreBroadcast() throws Exception {
        onAll(hvd -> {
            int root = hvd.size() - 1;
            String mine = "from rank " + hvd.rank() + " " + "x".repeat(1000 * hvd.rank());
            String all = hvd.broadcastObject("object", mine, ObjectCodec.utf8(), root);
            assertThat(all).isEqualTo("from rank " + root + " " + "x".repeat(1000 * root));
            String empty = hvd.broadcastObject("object.empty", hvd.rank() == 0 ? "" : "no", ObjectCodec.utf8(), 0);
            assertThat(empty).isEmpty();
            return null;
        });
    }

    @Test
    void everyRankGetsEverybodysObject() throws Exception {
        onAll(hvd -> {
            List<String> all = hvd.allgatherObject("objects", "r".repeat(1000 * hvd.rank()), ObjectCodec.utf8());
            assertThat(all)
                    .isEqualTo(IntStream.range(0, hvd.size())
                            .mapToObj(rank -> "r".repeat(1000 * rank))
                            .toList());
            return null;
        });
    }

    @Test
    void aMonitoredBarrierNamesWhoIsMissingToAllAndLetsThemGoOn() throws Exception {
        onAllOf(2, hvd -> {
            int late = hvd.size() - 1;
            for (int round = 0; round < 2; round++) {
                hvd.monitoredBarrier(Duration.ofMinutes(1));
                if (hvd.rank() != late) {
                    requireLate(hvd, LATE, late);
                    // Only now may the last rank go on: it comes too late for certain.
                    hvd.allreduce("barrier.late", Tensor.of(1f));
                } else {
                    hvd.allreduce("barrier.late", Tensor.of(1f));
                    requireLate(hvd, Duration.ofMinutes(1), late);
                }
            }
            requireUsable(hvd, "barrier.late");
            return null;
        });
    }

    private static void requireLate(HvdContext hvd, Duration atMost, int late) {
        assertThatThrownBy(() -> hvd.monitoredBarrier(atMost))
                .isInstanceOf(BarrierTimeoutException.class)
                .hasMessageContainingAll(LATE.toMillis() + " ms", "{" + late + "}");
    }

    @Test
    void parametersBecomeTheRoots() throws Exception {
        onAll(hvd -> {
            float[] weights = {hvd.rank(), 1 + hvd.rank()};
            double[] more = {10.0 * hvd.rank()};
            hvd.broadcastParameters(Map.of("w", Tensor.of(weights), "more", Tensor.of(more)), hvd.size() - 1);
            assertThat(weights).containsExactly(hvd.size() - 1, hvd.size());
            assertThat(more).containsExactly(10.0 * (hvd.size() - 1));
            return null;
        });
    }

    @Test
    void parametersThatDifferAreNamedAndNothingIsOverwritten() throws Exception {
        onAllOf(2, hvd -> {
            int odd = hvd.size() - 1;
            float[] weights = new float[hvd.rank() == odd ? 3 : 2];
            Arrays.fill(weights, hvd.rank());
            Map<String, Tensor> parameters = Map.of("a.same", Tensor.of(1f), "b.weight", Tensor.of(weights));
            assertThatThrownBy(() -> hvd.broadcastParameters(parameters, 0))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("b.weight")
                    .hasMessageContaining("float32 [2]")
                    .hasMessageContaining("\"float32 [3]\" on ranks {" + odd + "}");
            assertThat(weights).containsOnly(hvd.rank());
            return null;
        });
    }

    @Test
    void aNameInProgressIsRefusedAndTheFirstOperationStillCompletes() throws Exception {
        // With one rank the first operation is done before the second comes.
        onAllOf(2, hvd -> {
            Handle first;
            if (hvd.rank() == 0) {
                first = hvd.allreduceAsync("twice", Tensor.of(1f), AllreduceOptions.sum());
                assertThatThrownBy(() -> hvd.allreduce("twice", Tensor.of(1f)))
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContaining("twice")
                        .hasMessageContaining("allreduce");
                hvd.broadcast("twice.go", Tensor.of(1f), 0);
            } else {
                hvd.broadcast("twice.go", Tensor.of(1f), 0);
                first = hvd.allreduceAsync("twice", Tensor.of(1f), AllreduceOptions.sum());
            }
            assertThat(first.synchronize().item()).isEqualTo(hvd.size());
            return null;
        });
    }

    @Test
    void aGroupWithANameInProgressStartsNothing() throws Exception {
        // With one rank the first operation is done before the second comes.
        onAllOf(2, hvd -> {
            Handle taken = null;
            if (hvd.rank() == 0) {
                taken = hvd.allreduceAsync("group.taken", Tensor.of(1f), AllreduceOptions.sum());
                Map<String, Tensor> group = new LinkedHashMap<>();
                group.put("group.free", Tensor.of(1f));
                group.put("group.taken", Tensor.of(1f));
                assertThatThrownBy(() -> hvd.allreduceInPlaceAsync(group, AllreduceOptions.sum()))
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContaining("group.taken");
            }
            hvd.broadcast("group.go", Tensor.of(1f), 0);
            if (taken == null) {
                taken = hvd.allreduceAsync("group.taken", Tensor.of(1f), AllreduceOptions.sum());
            }
            assertThat(taken.synchronize().item()).isEqualTo(hvd.size());
            assertThat(reduce(hvd, "group.free", Tensor.of(1f), ReduceOp.SUM).item())
                    .isEqualTo(hvd.size());
            return null;
        });
    }

    @Test
    void adasumIsRefusedAsNotThereYet() throws Exception {
        onAll(hvd -> {
            assertThatThrownBy(() -> reduce(hvd, "adasum", Tensor.of(1f), ReduceOp.ADASUM))
                    .hasMessageContaining("ADASUM");
            return null;
        });
    }
}
