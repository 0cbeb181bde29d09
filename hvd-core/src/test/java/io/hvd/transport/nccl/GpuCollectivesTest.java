package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What goes between GPUs comes out as it does between hosts, by NCCL and through the host, with one to
 * three ranks. GPUs and NCCL are simulated: it proves addresses, sizes and the order of the work, never a device.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class GpuCollectivesTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private static Tensor random(DType type, long elements, int seed) {
        Random random = new Random(seed);
        Object array = java.lang.reflect.Array.newInstance(type.arrayType().getComponentType(), (int) elements);
        for (int i = 0; i < elements; i++) {
            int value =
                    random.nextInt(5) - (type == DType.BOOL || type.toString().startsWith("u") ? 0 : 2);
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = value * 0.5f;
                case FLOAT64 -> ((double[]) array)[i] = value * 0.25;
                case FLOAT16 -> ((short[]) array)[i] = io.hvd.tensor.HalfFloat.toFloat16(value * 0.5f);
                case BFLOAT16 -> ((short[]) array)[i] = io.hvd.tensor.HalfFloat.toBfloat16(value * 0.5f);
                case INT32 -> ((int[]) array)[i] = value;
                case INT64 -> ((long[]) array)[i] = value;
                case INT16, UINT16 -> ((short[]) array)[i] = (short) value;
                case INT8, UINT8 -> ((byte[]) array)[i] = (byte) value;
                case BOOL -> ((byte[]) array)[i] = (byte) (value & 1);
            }
        }
        return Tensor.wrap(array, type, Shape.of(elements));
    }

    private static List<Reduction> reductions(DType type) {
        List<Reduction> all = new ArrayList<>();
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
            all.add(new Reduction(op, type, 1, 1));
        }
        if (type.refusesScaling().isEmpty()) {
            all.add(new Reduction(ReduceOp.SUM, type, 1, 0.5));
            all.add(new Reduction(ReduceOp.SUM, type, 2, 0.25));
            all.add(new Reduction(ReduceOp.MAX, type, 0.5, 2));
            all.add(new Reduction(ReduceOp.MAX, type, -1, -1));
            // NCCL multiplies floats before it adds them, which is the same where nothing is rounded.
            for (int divisor : type.isFloating() ? new int[] {4} : new int[] {3, 49}) {
                all.add(new Reduction(ReduceOp.SUM, type, divisor, 1, divisor));
                all.add(new Reduction(ReduceOp.SUM, type, 1, 1, divisor));
                all.add(new Reduction(ReduceOp.SUM, type, 7, 0.5, divisor));
            }
        }
        if (type == DType.FLOAT32 || type == DType.FLOAT64) {
            all.add(new Reduction(ReduceOp.SUM, DType.FLOAT16, 1, 0.25));
            all.add(new Reduction(ReduceOp.SUM, DType.BFLOAT16, 0.5, 1));
        }
        return all;
    }

    private static void requireEqual(SimulatedRanks.Rank rank, Tensor found, Tensor expected, Object what) {
        assertThat(rank.down(found).toFloatArray()).as("%s", what).isEqualTo(expected.toFloatArray());
    }

    private static final String BOTH_WAYS = """
            nccl, 1
            nccl, 2
            nccl, 3
            host, 1
            host, 2
            host, 3""";

    /** Alone and in batches, over several stages, in place and not. */
    @ParameterizedTest
    @CsvSource({"nccl, 1", "nccl, 3", "host, 1", "host, 3"})
    void reductionsOfEveryTypeGiveWhatTheHostGives(String way, int size) throws Exception {
        requireReductionsOfHost(way, size);
    }

    @ParameterizedTest
    @CsvSource({"nccl, 2", "host, 2"})
    @Tag("long")
    void reductionsOnTwoGpusGiveWhatTheHostGives(String way, int size) throws Exception {
        requireReductionsOfHost(way, size);
    }

    private static void requireReductionsOfHost(String way, int size) throws Exception {
        SimulatedRanks.run(size, way, Map.of(), rank -> {
            for (DType type : DType.values()) {
                for (Reduction how : reductions(type)) {
                    for (long[] sizes : new long[][] {{1}, {0, 3, 0}, {5, 700, 1, 2000, 64}}) {
                        compareAllreduce(rank, type, how, sizes);
                    }
                }
            }
        });
    }

    private static void compareAllreduce(SimulatedRanks.Rank rank, DType type, Reduction how, long[] sizes)
            throws Exception {
        List<Tensor> onHost = new ArrayList<>();
        List<Tensor> onGpu = new ArrayList<>();
        List<Tensor> outputs = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            Tensor tensor = random(type, sizes[i], 100 * rank.rank() + i);
            onGpu.add(rank.up(tensor));
            onHost.add(tensor);
            // Every second one in place.
            outputs.add(i % 2 == 0 ? onGpu.get(i) : rank.data().output(Device.cuda(0), type, tensor.shape()));
        }
        rank.data().allreduce(onGpu, outputs, how);
        rank.settle(rank.data());
        rank.data().allreduce(onHost, onHost, how);
        for (int i = 0; i < sizes.length; i++) {
            requireEqual(rank, outputs.get(i), onHost.get(i), type + " " + how + " " + Arrays.toString(sizes));
        }
    }

    @ParameterizedTest
    @CsvSource(textBlock = BOTH_WAYS)
    void piecesOfAnyLengthAreReducedAndScattered(String way, int size) throws Exception {
        SimulatedRanks.run(size, way, Map.of(), rank -> {
            for (DType type : List.of(DType.FLOAT32, DType.FLOAT64, DType.INT16, DType.INT32)) {
                for (Reduction how : reductions(type)) {
                    long[] elements = IntStream.range(0, size)
                            .mapToLong(r -> 500L * r + 7)
                            .toArray();
                    Tensor input = random(type, Arrays.stream(elements).sum(), rank.rank());
                    Tensor expected = Tensor.zeros(type, Shape.of(elements[rank.rank()]));
                    Tensor found = rank.data().output(Device.cuda(0), type, expected.shape());
                    rank.data().reduceScatter(rank.up(input), found, elements, how);
                    rank.settle(rank.data());
                    rank.data().reduceScatter(input, expected, elements, how);
                    requireEqual(rank, found, expected, type + " " + how);

                    Tensor reduced = Tensor.zeros(type, input.shape());
                    Tensor onGpu = rank.data().output(Device.cuda(0), type, input.shape());
                    boolean root = rank.rank() == size - 1;
                    rank.data().reduce(rank.up(input), root ? onGpu : null, how, size - 1);
                    rank.settle(rank.data());
                    rank.data().reduce(input, root ? reduced : null, how, size - 1);
                    if (root) {
                        requireEqual(rank, onGpu, reduced, "reduce of " + type + " " + how);
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @CsvSource(textBlock = BOTH_WAYS)
    void whatOnlyMovesArrivesWhole(String way, int size) throws Exception {
        SimulatedRanks.run(size, way, Map.of(), rank -> {
            for (DType type : DType.values()) {
                for (boolean even : new boolean[] {true, false}) {
                    move(rank, type, even);
                }
            }
        });
    }

    private static void move(SimulatedRanks.Rank rank, DType type, boolean even) throws Exception {
        int size = rank.size();
        int me = rank.rank();
        long[] counts =
                IntStream.range(0, size).mapToLong(r -> even ? 1500 : 1300L * r).toArray();
        long all = Arrays.stream(counts).sum();
        Tensor mine = random(type, counts[me], me);
        Tensor whole = random(type, all, 50 + me);
        DataPlane data = rank.data();

        Tensor gathered = Tensor.zeros(type, Shape.of(all));
        Tensor gatheredOnGpu = data.output(Device.cuda(0), type, Shape.of(all));
        data.allgather(rank.up(mine), gatheredOnGpu, counts);
        rank.settle(data);
        data.allgather(mine, gathered, counts);
        requireEqual(rank, gatheredOnGpu, gathered, "allgather of " + type);

        Tensor atRoot = me == 0 ? data.output(Device.cuda(0), type, Shape.of(all)) : null;
        data.gather(rank.up(mine), atRoot, counts, 0);
        rank.settle(data);
        if (me == 0) {
            requireEqual(rank, atRoot, gathered, "gather of " + type);
        }

        Tensor piece = Tensor.zeros(type, Shape.of(counts[me]));
        Tensor pieceOnGpu = data.output(Device.cuda(0), type, Shape.of(counts[me]));
        data.scatter(me == 0 ? rank.up(whole) : null, pieceOnGpu, counts, 0);
        rank.settle(data);
        data.scatter(me == 0 ? whole : null, piece, counts, 0);
        requireEqual(rank, pieceOnGpu, piece, "scatter of " + type);

        // Rank r gives each rank counts[r] elements of equal number.
        long[] sent = new long[size];
        Arrays.fill(sent, counts[me]);
        Tensor given = random(type, size * counts[me], 70 + me);
        Tensor taken = Tensor.zeros(type, Shape.of(all));
        Tensor takenOnGpu = data.output(Device.cuda(0), type, Shape.of(all));
        long longest = Arrays.stream(counts).max().orElse(0);
        data.alltoall(rank.up(given), takenOnGpu, sent, counts, longest);
        rank.settle(data);
        data.alltoall(given, taken, sent, counts, longest);
        requireEqual(rank, takenOnGpu, taken, "alltoall of " + type);

        Tensor told = rank.up(whole);
        data.broadcast(List.of(told), List.of(told), size - 1);
        rank.settle(data);
        data.broadcast(List.of(whole), List.of(whole), size - 1);
        requireEqual(rank, told, whole, "broadcast of " + type);

        if (size > 1 && me < 2) {
            Tensor parcel = random(type, 1100, 9);
            Tensor onGpu = rank.up(me == 0 ? parcel : Tensor.zeros(type, parcel.shape()));
            if (me == 0) {
                data.send(onGpu, 1);
            } else {
                data.receive(onGpu, 0);
            }
            rank.settle(data);
            requireEqual(rank, onGpu, parcel, "transfer of " + type);
        }
    }

    @ParameterizedTest
    @CsvSource({"nccl, 2", "nccl, 3", "host, 3"})
    void processSetsHaveTheirOwnCommunicator(String way, int size) throws Exception {
        SimulatedRanks.run(size, way, Map.of(), rank -> {
            List<Integer> members = List.of(0, size - 1);
            if (members.contains(rank.rank())) {
                DataPlane set = rank.backend().collectives(members);
                Tensor tensor = rank.up(Tensor.of(1f + rank.rank()));
                set.allreduce(List.of(tensor), List.of(tensor), SUM);
                rank.settle(set);
                assertThat(rank.down(tensor).item()).isEqualTo(1f + size);
                set.close();
            }
        });
    }

    /** Also when the host has been told that all is done: streams wait for each other, the host for nobody. */
    @ParameterizedTest
    @CsvSource({"nccl, 0", "nccl, 1", "host, 0"})
    void workStartsBehindTheUsersAndTheUsersGoesOnBehindIt(String way, String asynchronous) throws Exception {
        SimulatedRanks.run(2, way, Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous), rank -> {
            long stream = rank.gpu().createStream();
            for (int round = 0; round < 20; round++) {
                float value = round + rank.rank();
                Tensor tensor = rank.gpu().copyOf(Tensor.of(-1f), SimulatedRanks.GPU, stream);
                long address = ((DeviceMemory) tensor.memory()).address();
                rank.gpu().enqueue(stream, () -> rank.gpu().at(address).putFloat(0, value));
                rank.data().allreduce(List.of(tensor), List.of(tensor), SUM);
                CompletableFuture<Float> seen = new CompletableFuture<>();
                rank.gpu()
                        .enqueue(
                                stream,
                                () -> seen.complete(rank.gpu().at(address).getFloat(0)));
                assertThat(seen.get(20, TimeUnit.SECONDS)).isEqualTo(2f * round + 1);
                rank.settle(rank.data());
            }
        });
    }

    /** The vote is taken on the host. */
    @ParameterizedTest
    @CsvSource({"nccl", "host"})
    void aVetoIsHeardByAllBeforeAnythingIsWritten(String way) throws Exception {
        SimulatedRanks.run(2, way, Map.of(), rank -> {
            for (boolean vetoed : new boolean[] {true, false}) {
                Tensor tensor = rank.up(Tensor.of(2f));
                if (vetoed && rank.rank() == 1) {
                    rank.data().vetoAllreduce(Device.cuda(0), 1, SUM);
                } else {
                    boolean done = rank.data().allreduceUnlessVetoed(List.of(tensor), List.of(tensor), SUM);
                    assertThat(done).isEqualTo(!vetoed);
                    rank.settle(rank.data());
                    assertThat(rank.down(tensor).item()).isEqualTo(vetoed ? 2 : 4);
                }
            }
        });
    }

    /** The sums are the same, whichever way they get from node to node. */
    @ParameterizedTest
    @CsvSource({
        "a b a b, HOROVOD_HIERARCHICAL_ALLREDUCE, through the host across nodes",
        "a a a b b b, HOROVOD_TORUS_ALLREDUCE, in the node and across nodes",
        "a a b, HOROVOD_TORUS_ALLREDUCE, 'different numbers of ranks: [2, 1]'",
        "a a, HOROVOD_HIERARCHICAL_ALLREDUCE, all ranks are on one node",
        "a b, HOROVOD_HIERARCHICAL_ALLREDUCE, one rank only"
    })
    void allreducesInNodesAndAcrossThemGiveWhatTheHostGives(String nodes, String setting, String description)
            throws Exception {
        requireAllreducesOfHost(nodes, setting, description);
    }

    @ParameterizedTest
    @CsvSource({
        "a a b b, HOROVOD_HIERARCHICAL_ALLREDUCE, through the host across nodes",
        "a a b b, HOROVOD_TORUS_ALLREDUCE, in the node and across nodes"
    })
    @Tag("long")
    void allreducesOnNodesSideBySideGiveWhatTheHostGives(String nodes, String setting, String description)
            throws Exception {
        requireAllreducesOfHost(nodes, setting, description);
    }

    private static void requireAllreducesOfHost(String nodes, String setting, String description) throws Exception {
        SimulatedRanks.Layout layout = new SimulatedRanks.Layout(List.of(nodes.split(" ")), 1);
        SimulatedRanks.run(layout, "nccl", Map.of(setting, "1"), rank -> {
            assertThat(rank.backend().description()).contains(description);
            for (DType type : DType.values()) {
                for (Reduction how : reductions(type)) {
                    for (long[] sizes : new long[][] {{1}, {5, 700, 1, 2000, 64}}) {
                        compareAllreduce(rank, type, how, sizes);
                    }
                }
            }
            // A process set has its own grid, or none.
            List<Integer> members = List.of(0, rank.size() - 1);
            if (members.contains(rank.rank())) {
                DataPlane set = rank.backend().collectives(members);
                Tensor tensor = rank.up(Tensor.of(1f + rank.rank()));
                set.allreduce(List.of(tensor), List.of(tensor), SUM);
                rank.settle(set);
                assertThat(rank.down(tensor).item()).isEqualTo(1f + rank.size());
                set.close();
            }
        });
    }

    /** Rank r's GPUs are cuda:2r and cuda:2r+1; each speaks with those at the same place. */
    @ParameterizedTest
    @CsvSource({"nccl", "host"})
    void everyGpuOfARankMeetsTheOthersAtItsPlace(String way) throws Exception {
        SimulatedRanks.Layout layout = new SimulatedRanks.Layout(List.of("a", "a"), 2);
        SimulatedRanks.run(layout, way, Map.of(), rank -> {
            for (int round = 0; round < 10; round++) {
                for (Device device : layout.devices(rank.rank())) {
                    int place = device.index() % 2;
                    Tensor tensor = rank.up(Tensor.of(10f * rank.rank() + place), device);
                    Tensor sum = rank.data().output(Device.cuda(place), DType.FLOAT32, Shape.of(1));
                    assertThat(sum.device()).isEqualTo(device);
                    rank.data().allreduce(List.of(tensor), List.of(sum), SUM);
                    rank.settle(rank.data());
                    assertThat(rank.down(sum).item()).isEqualTo(10f + 2 * place);
                }
            }
            assertThat(rank.data().refuses(OpKind.BROADCAST, Device.cuda(1), DType.FLOAT32, null))
                    .isEmpty();
            assertThat(rank.data().refuses(OpKind.BROADCAST, Device.cuda(2), DType.FLOAT32, null))
                    .contains("it reaches no tensors on GPU 2 of a rank");
        });
    }

    @ParameterizedTest
    @CsvSource({"nccl", "host"})
    void aTensorOfAnotherGpuIsNamed(String way) throws Exception {
        SimulatedRanks.run(1, way, Map.of(), rank -> {
            Tensor stray = rank.gpu().copyOf(Tensor.of(1f), Device.cuda(3), 0);
            assertThatThrownBy(() -> rank.data().allreduce(List.of(stray), List.of(stray), SUM))
                    .hasMessageContainingAll("cuda:3", "cuda:0");
        });
    }

    /** Java's heap has room enough for a hundred thousand of them. */
    @Test
    void aFullGpuLooksForResultsThatNobodyHoldsBeforeItGivesUp() throws Exception {
        SimulatedRanks.run(1, "host", Map.of(), rank -> {
            List<Tensor> held = new ArrayList<>();
            held.add(rank.data().output(Device.cuda(0), DType.FLOAT32, Shape.of(10)));
            rank.gpu().limit(rank.gpu().blocks() + 3);
            for (int i = 0; i < 20; i++) {
                rank.data().output(Device.cuda(0), DType.FLOAT32, Shape.of(10));
            }
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 4; i++) {
                            held.add(rank.data().output(Device.cuda(0), DType.FLOAT32, Shape.of(10)));
                        }
                    })
                    .hasMessageContainingAll("40 bytes", "out of memory");
            assertThat(held).hasSize(4);
        });
    }

    /** As soon as nobody can reach a result any more; without NCCL nothing tells when the streams have done with it. */
    @ParameterizedTest
    @CsvSource({"nccl, 0", "host, 0", "host, 1000000"})
    void resultsThatNobodyHoldsAreFreed(String way, String kept) throws Exception {
        SimulatedRanks.run(1, way, Map.of("HVD_GPU_RESULT_BYTES", kept), rank -> {
            Tensor tensor = rank.up(Tensor.of(1f));
            for (int i = 0; i < 10; i++) {
                // By then hvd has made all that it keeps for itself.
                rank.data().allreduce(List.of(tensor), List.of(tensor), SUM);
                rank.settle(rank.data());
            }
            int before = rank.gpu().blocks();
            for (int i = 0; i < 50; i++) {
                rank.data().output(Device.cuda(0), DType.FLOAT32, Shape.of(10));
            }
            assertThat(rank.gpu().blocks()).isGreaterThan(before);
            long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (rank.gpu().blocks() > before && System.nanoTime() < giveUp) {
                System.gc();
                TimeUnit.MILLISECONDS.sleep(5);
                rank.data().allreduce(List.of(tensor), List.of(tensor), SUM);
                rank.settle(rank.data());
            }
            assertThat(rank.gpu().blocks()).isEqualTo(before);
        });
    }
}
