package io.hvd.backend.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.OnNodes;
import io.hvd.testing.PlainLoop;
import java.io.IOException;
import java.lang.reflect.Array;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as threads that share a file, beside the back end beneath, which must come to the same. */
@Timeout(120)
class SharedCollectivesTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    @TempDir
    private Path folder;

    private interface Body {
        void run(Backend shared, Collectives beneath) throws Exception;
    }

    private List<String> run(int size, Body body) throws Exception {
        return run(Collections.nCopies(size, "a"), folder, body);
    }

    /**
     * @param hosts of every rank
     * @return what each rank's back end says of itself
     */
    private static List<String> run(List<String> hosts, Path folder, Body body) throws Exception {
        HvdConfig config = HvdConfig.from(Map.of("HVD_SHARED_MEMORY", "1"));
        List<CompletableFuture<String>> ranks = new ArrayList<>();
        List<LocalProvider> team = LocalProvider.team(hosts.size(), 4096);
        for (int i = 0; i < team.size(); i++) {
            BackendProvider local = OnNodes.of(team.get(i), i, hosts);
            ranks.add(CompletableFuture.supplyAsync(
                    () -> {
                        try (Backend shared = new SharedProvider(local, folder).open(config, List.of())) {
                            body.run(shared, beneath(local, config));
                            return shared.description();
                        } catch (Exception e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    task -> new Thread(task, "shm-rank").start()));
        }
        List<String> descriptions = new ArrayList<>();
        for (CompletableFuture<String> rank : ranks) {
            descriptions.add(rank.get(100, TimeUnit.SECONDS));
        }
        return descriptions;
    }

    private static Collectives beneath(BackendProvider local, HvdConfig config) {
        return local.open(config, List.of()).collectives();
    }

    private static Tensor random(DType type, int elements, long seed) {
        Random random = new Random(seed);
        Object array = Array.newInstance(type.arrayType().getComponentType(), elements);
        for (int i = 0; i < elements; i++) {
            int value = random.nextInt(4);
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = random.nextFloat() - 0.5f;
                case FLOAT64 -> ((double[]) array)[i] = random.nextDouble();
                case FLOAT16 -> ((short[]) array)[i] = HalfFloat.toFloat16(random.nextFloat());
                case BFLOAT16 -> ((short[]) array)[i] = HalfFloat.toBfloat16(random.nextFloat());
                case INT32 -> ((int[]) array)[i] = value - 2;
                case INT64 -> ((long[]) array)[i] = value - 2;
                case INT16, UINT16 -> ((short[]) array)[i] = (short) value;
                case INT8, UINT8 -> ((byte[]) array)[i] = (byte) value;
                case BOOL -> ((byte[]) array)[i] = (byte) (value & 1);
            }
        }
        return Tensor.wrap(array, type, Shape.of(elements));
    }

    /** One step, one round, several rounds with a rest; alone and in batches with tensors of no elements. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void everyTypeAndOperatorGivesTheBitsOfTheBackEndBeneath(int size) throws Exception {
        List<String> said = run(size, (shared, beneath) -> {
            int rank = shared.topology().rank();
            for (DType type : DType.values()) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
                    for (int[] sizes : new int[][] {
                        {0}, {1}, {0, 3, 0}, {512}, {513}, {1500}, {40_001}, {131_172}, {5, 300_000, 1, 70_000}
                    }) {
                        compare(shared.collectives(), beneath, rank, new Reduction(op, type, 1, 1), sizes, type);
                    }
                }
            }
        });
        assertThat(said).allMatch(words -> words.matches("shared memory \\((128|512) KiB per rank\\) over local .*"));
        assertThat(folder).isEmptyDirectory();
    }

    private static final List<ReduceOp> EVERY_OPERATION =
            List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

    /** One step, one round and two; also in two levels, and over hosts whose ranks are not side by side. */
    @ParameterizedTest
    @ValueSource(strings = {"a,a", "a,a,a", "a,a,b,b", "a,b,a,b,a,b"})
    void valuesThatOverflowComeToWhatAPlainLoopComesTo(String hosts) throws Exception {
        List<Integer> ranks =
                IntStream.range(0, hosts.split(",").length).boxed().toList();
        run(List.of(hosts.split(",")), folder, (shared, beneath) -> {
            int self = shared.topology().rank();
            forEveryTypeAndOperation((type, op) -> {
                Reduction how = new Reduction(op.onTheWire(), type, 1, 1, op == ReduceOp.AVERAGE ? ranks.size() : 1);
                for (int size : new int[] {1, 40, 65, 300, 5000}) {
                    Tensor tensor = PlainLoop.brought(type, op, Shape.of(size), self, (self + size) % 2 == 0);
                    shared.collectives().allreduce(List.of(tensor), List.of(tensor), how);
                    PlainLoop.requireEqual(op + " of " + type, tensor, PlainLoop.reduced(type, op, ranks, size));
                }
                scatter(shared.collectives(), type, op, how, ranks, self);
            });
        });
    }

    private static void forEveryTypeAndOperation(BiConsumer<DType, ReduceOp> body) {
        for (DType type : DType.values()) {
            EVERY_OPERATION.stream().filter(op -> type.refuses(op).isEmpty()).forEach(op -> body.accept(type, op));
        }
    }

    /** As many bytes as go in two levels; the first rank gets nothing. */
    private static void scatter(DataPlane data, DType type, ReduceOp op, Reduction how, List<Integer> ranks, int self) {
        int share = 66_000 / type.bytes() / (ranks.size() - 1);
        long[] elements =
                ranks.stream().mapToLong(rank -> rank == 0 ? 0 : share).toArray();
        int all = share * (ranks.size() - 1);
        Tensor input = PlainLoop.brought(type, op, Shape.of(all), self, self % 2 == 0);
        Tensor output = Tensor.zeros(type, Shape.of(elements[self]));
        data.reduceScatter(input, output, elements, how);
        int first = self == 0 ? 0 : (self - 1) * share;
        long[] expected = Arrays.copyOfRange(
                PlainLoop.reduced(type, op, ranks, first + (int) elements[self]), first, first + (int) elements[self]);
        PlainLoop.requireEqual("reducescatter, " + op + " of " + type, output, expected);
    }

    /**
     * After whole stages, of one host and of several, where the first round has 16 KiB: few bytes lie elsewhere. Integers
     * add up to the same in any order.
     */
    @ParameterizedTest
    @ValueSource(strings = {"a,a", "a,a,a", "a,a,b,b"})
    void aShortLastRoundIsAsRightAsTheOthers(String hosts) throws Exception {
        run(List.of(hosts.split(",")), folder, (shared, beneath) -> {
            int rank = shared.topology().rank();
            for (int whole : new int[] {131_072, 4096 + 1_048_576}) {
                for (int rest : new int[] {1, 30, 31, 500, 2049}) {
                    Reduction sum = new Reduction(ReduceOp.SUM, DType.INT32, 1, 1);
                    compare(shared.collectives(), beneath, rank, sum, new int[] {whole + rest}, DType.INT32);
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void scalesAndCompressesOnTheWay(int size) throws Exception {
        run(size, (shared, beneath) -> {
            int rank = shared.topology().rank();
            for (DType wire : List.of(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)) {
                Reduction how = new Reduction(ReduceOp.SUM, wire, 0.5, 0.25);
                compare(shared.collectives(), beneath, rank, how, new int[] {7, 100_000}, DType.FLOAT32);
            }
            for (DType type : List.of(DType.FLOAT64, DType.FLOAT16, DType.INT32, DType.INT64, DType.UINT8)) {
                for (int divisor : new int[] {1, 3}) {
                    Reduction how = new Reduction(ReduceOp.SUM, type, 2, 0.25, divisor);
                    compare(shared.collectives(), beneath, rank, how, new int[] {200}, type);
                    compare(shared.collectives(), beneath, rank, how, new int[] {7, 100_000}, type);
                }
            }
        });
    }

    private static void compare(
            Collectives shared, Collectives beneath, int rank, Reduction how, int[] sizes, DType type) {
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> found = new ArrayList<>();
        List<Tensor> expected = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            Tensor input = random(type, sizes[i], 31L * rank + i);
            inputs.add(input);
            found.add(Tensor.zeros(type, input.shape()));
            expected.add(Tensor.zeros(type, input.shape()));
        }
        shared.allreduce(inputs, found, how);
        beneath.allreduce(inputs, expected, how);
        for (int i = 0; i < sizes.length; i++) {
            assertThat(found.get(i).toArray())
                    .as("%s %s", type, how)
                    .isEqualTo(expected.get(i).toArray());
            assertThat(inputs.get(i).toArray())
                    .isEqualTo(random(type, sizes[i], 31L * rank + i).toArray());
        }
    }

    /** Slow ranks must not be overtaken: sizes alternate, and a rank sleeps now and then. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void roundsOfDifferentSizesFollowEachOtherHoweverTheRanksDawdle(int size) throws Exception {
        run(size, (shared, beneath) -> {
            int rank = shared.topology().rank();
            Random sizes = new Random(5);
            Random dawdling = new Random(rank);
            for (int step = 0; step < 1_000; step++) {
                int elements = sizes.nextBoolean() ? 1 + sizes.nextInt(100) : 1 + sizes.nextInt(300_000);
                float[] values = new float[elements];
                java.util.Arrays.fill(values, step + rank);
                if (dawdling.nextInt(50) == 0) {
                    java.util.concurrent.locks.LockSupport.parkNanos(200_000);
                }
                Tensor tensor = Tensor.of(values);
                shared.collectives().allreduce(List.of(tensor), List.of(tensor), SUM);
                float expected = size * step + size * (size - 1) / 2;
                float[] sum = (float[]) tensor.toArray();
                for (int i : new int[] {0, elements / 2, elements - 1}) {
                    assertThat(sum[i])
                            .as("step %d, %d elements", step, elements)
                            .isEqualTo(expected);
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 100_000})
    void aVetoIsHeardByAllAndWritesNothing(int elements) throws Exception {
        run(3, (shared, beneath) -> {
            DataPlane data = shared.collectives();
            for (int round = 0; round < 9; round++) {
                float[] twos = new float[elements];
                java.util.Arrays.fill(twos, 2);
                Tensor tensor = Tensor.wrap(twos, DType.FLOAT32, Shape.of(elements));
                boolean vetoed = round % 3 == 0;
                if (vetoed && shared.topology().rank() == round % 2) {
                    data.vetoAllreduce(Device.CPU, elements, SUM);
                } else {
                    assertThat(data.allreduceUnlessVetoed(List.of(tensor), List.of(tensor), SUM))
                            .isEqualTo(!vetoed);
                    if (elements > 0) {
                        assertThat(tensor.toFloatArray()[elements - 1]).isEqualTo(vetoed ? 2 : 6);
                    }
                }
            }
        });
    }

    /** Values whose sums are exact, because the order of adding is another one with hosts between. */
    @ParameterizedTest
    @ValueSource(strings = {"a,a,b,b", "a,b,a,b,a,b", "a,a,a,b,b,b"})
    void betweenHostsEveryRankCombinesItsSliceWithThoseAtItsPlace(String hosts) throws Exception {
        List<String> said = run(List.of(hosts.split(",")), folder, (shared, beneath) -> {
            for (DType type : List.of(DType.FLOAT32, DType.INT64, DType.INT8)) {
                for (int[] sizes : new int[][] {{0}, {1}, {0, 3, 0}, {40_001}, {5, 2_500_000, 1, 70_000}}) {
                    sumOverHosts(shared, beneath, type, sizes);
                }
            }
        });
        assertThat(said).allMatch(words -> words.startsWith("shared memory in each host ("));
        assertThat(folder).isEmptyDirectory();
    }

    private static void sumOverHosts(Backend shared, Collectives beneath, DType type, int[] sizes) {
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> found = new ArrayList<>();
        List<Tensor> expected = new ArrayList<>();
        for (int size : sizes) {
            Tensor whole =
                    random(DType.INT8, size, 7L * size + shared.topology().rank());
            Tensor input = small(type, (byte[]) whole.toArray());
            inputs.add(input);
            found.add(Tensor.zeros(type, input.shape()));
            expected.add(Tensor.zeros(type, input.shape()));
        }
        Reduction how = new Reduction(ReduceOp.SUM, type, 1, 1);
        shared.collectives().allreduce(inputs, found, how);
        beneath.allreduce(inputs, expected, how);
        for (int i = 0; i < sizes.length; i++) {
            assertThat(found.get(i).toArray()).isEqualTo(expected.get(i).toArray());
        }
    }

    private static Tensor small(DType type, byte[] values) {
        Object array = Array.newInstance(type.arrayType().getComponentType(), values.length);
        for (int i = 0; i < values.length; i++) {
            // Widens to whatever the array holds.
            Array.setByte(array, i, values[i]);
        }
        return Tensor.wrap(array, type, Shape.of(values.length));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 1_200_000})
    void aVetoIsHeardOnOtherHosts(int elements) throws Exception {
        run(List.of("a", "a", "b", "b"), folder, (shared, beneath) -> {
            DataPlane data = shared.collectives();
            for (int round = 0; round < 12; round++) {
                float[] twos = new float[elements];
                Arrays.fill(twos, 2);
                Tensor tensor = Tensor.wrap(twos, DType.FLOAT32, Shape.of(elements));
                boolean vetoed = round % 3 == 0;
                if (vetoed && shared.topology().rank() == round / 3) {
                    data.vetoAllreduce(Device.CPU, elements, SUM);
                } else {
                    assertThat(data.allreduceUnlessVetoed(List.of(tensor), List.of(tensor), SUM))
                            .isEqualTo(!vetoed);
                    for (float found : tensor.toFloatArray()) {
                        assertThat(found).isEqualTo(vetoed ? 2 : 8);
                    }
                }
            }
        });
    }

    @Test
    void hostsWithDifferentNumbersOfRanksDoWithout() throws Exception {
        List<String> said = run(List.of("a", "a", "b"), folder, (shared, beneath) -> {});
        assertThat(said).allMatch(words -> words.startsWith("local"));
    }

    /** Pieces of all lengths, none among them, over several rounds. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void whatMovesDataComesToTheSameAsBeneath(int size) throws Exception {
        run(size, (shared, beneath) -> {
            for (int seed = 0; seed < 12; seed++) {
                move(shared.collectives(), beneath, shared.topology().rank(), size, seed);
            }
        });
    }

    /** Also hosts whose ranks are not side by side. */
    @ParameterizedTest
    @ValueSource(strings = {"a,a,b,b", "a,b,a,b,a,b", "a,b,b,a", "a,a,b,b,c,c"})
    void whatMovesDataBetweenHostsComesToTheSameAsBeneath(String hosts) throws Exception {
        List<String> nodes = List.of(hosts.split(","));
        run(nodes, folder, (shared, beneath) -> {
            for (int seed = 0; seed < 6; seed++) {
                move(shared.collectives(), beneath, shared.topology().rank(), nodes.size(), seed);
            }
            bigBroadcast(shared.collectives(), beneath, shared.topology().rank());
            bigPieces(shared.collectives(), beneath, shared.topology().rank(), nodes.size());
        });
    }

    /** Five rounds and more, of which two are under way at a time, for elements of one byte and of eight. */
    private static void bigPieces(Collectives shared, Collectives beneath, int rank, int size) {
        long[] lengths = new long[size];
        Arrays.setAll(lengths, i -> 700_000 - 100_000L * i);
        long[] mine = {lengths[rank]};
        Tensor doubles = random(DType.FLOAT64, (int) lengths[rank], rank);
        both(shared, beneath, DType.FLOAT64, lengths, (data, output) -> data.allgather(doubles, output, lengths));

        Tensor some = random(DType.INT8, (int) Arrays.stream(lengths).sum(), rank);
        Tensor all = small(DType.INT64, (byte[]) some.toArray());
        Reduction sum = new Reduction(ReduceOp.SUM, DType.INT64, 1, 1);
        both(shared, beneath, DType.INT64, mine, (data, output) -> data.reduceScatter(all, output, lengths, sum));

        long[] many = Arrays.stream(lengths).map(length -> 3 * length).toArray();
        Tensor bytes = random(DType.UINT8, (int) many[rank], rank);
        both(shared, beneath, DType.UINT8, many, (data, output) -> data.allgather(bytes, output, many));
    }

    private static void bigBroadcast(Collectives shared, Collectives beneath, int rank) {
        Tensor shown = random(DType.FLOAT32, 2_500_000, rank);
        long[] whole = {shown.elements()};
        both(shared, beneath, whole, (data, output) -> data.broadcast(List.of(shown), List.of(output), 1));
        shared.broadcast(List.of(shown), List.of(shown), 3);
        assertThat(shown.toArray())
                .isEqualTo(random(DType.FLOAT32, 2_500_000, 3).toArray());
    }

    private static final int[] LONGEST = {50, 90_000, 600_000};

    private static void move(Collectives shared, Collectives beneath, int rank, int size, int seed) {
        Random random = new Random(seed);
        long[][] sent = new long[size][size];
        for (long[] row : sent) {
            Arrays.setAll(row, i -> random.nextInt(3) == 0 ? 0 : random.nextInt(LONGEST[seed % 3]));
        }
        long[] mine = sent[rank];
        long[] received = Arrays.stream(sent).mapToLong(row -> row[rank]).toArray();
        long longest = Arrays.stream(sent).flatMapToLong(Arrays::stream).max().orElse(0);
        Tensor input = random(DType.FLOAT32, (int) Arrays.stream(mine).sum(), seed * 100L + rank);
        both(shared, beneath, received, (data, output) -> data.alltoall(input, output, mine, received, longest));

        long[] lengths = sent[size - 1];
        Tensor own = random(DType.INT16, (int) lengths[rank], seed * 100L + rank);
        both(shared, beneath, DType.INT16, lengths, (data, output) -> data.allgather(own, output, lengths));

        long[] share = {lengths[rank]};
        // Exact in every order of adding.
        Tensor some = random(DType.INT8, (int) Arrays.stream(lengths).sum(), seed * 100L + rank);
        Tensor all = small(DType.FLOAT32, (byte[]) some.toArray());
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT16, 0.5, 0.25);
        both(shared, beneath, share, (data, output) -> data.reduceScatter(all, output, lengths, how));

        int root = seed % size;
        long[] whole = {longest};
        Tensor shown = random(DType.FLOAT32, (int) longest, seed * 100L + rank);
        both(shared, beneath, whole, (data, output) -> data.broadcast(List.of(shown), List.of(output), root));
    }

    private interface Call {
        void make(Collectives data, Tensor output);
    }

    private static void both(Collectives shared, Collectives beneath, long[] lengths, Call call) {
        both(shared, beneath, DType.FLOAT32, lengths, call);
    }

    private static void both(Collectives shared, Collectives beneath, DType type, long[] lengths, Call call) {
        Shape shape = Shape.of(Arrays.stream(lengths).sum());
        Tensor found = Tensor.zeros(type, shape);
        Tensor expected = Tensor.zeros(type, shape);
        call.make(shared, found);
        call.make(beneath, expected);
        assertThat(found.toArray()).isEqualTo(expected.toArray());
    }

    @Test
    void processSetsHaveSegmentsOfTheirOwnAndLoneOnesNone() throws Exception {
        run(3, (shared, beneath) -> {
            int rank = shared.topology().rank();
            if (rank != 1) {
                Collectives set = shared.collectives(List.of(0, 2));
                Tensor tensor = Tensor.of(rank + 1f);
                set.allreduce(List.of(tensor), List.of(tensor), SUM);
                assertThat(tensor.item()).isEqualTo(4);
            } else {
                assertThat(shared.collectives(List.of(1))).isNotInstanceOf(SharedCollectives.class);
            }
        });
    }

    @Test
    void withoutAFolderInMemoryTheBackEndBeneathDoesTheWorkAndTheReasonIsSaid() throws Exception {
        Path missing = folder.resolve("missing");
        List<String> said = run(List.of("a", "a"), missing, (shared, beneath) -> {
            Tensor tensor = Tensor.of(1f);
            shared.collectives().allreduce(List.of(tensor), List.of(tensor), SUM);
            assertThat(tensor.item()).isEqualTo(2);
        });
        assertThat(said)
                .allMatch(words ->
                        words.startsWith("no shared memory (rank 0: ") && words.contains("NoSuchFileException"));
    }

    @Test
    void aSegmentFileIsAsLongAsItSaysAndNobodyElseMayReadIt() throws Exception {
        Path file = SegmentFile.create(folder, 3_000_000);
        assertThat(Files.size(file)).isEqualTo(3_000_000);
        assertThat(Files.getPosixFilePermissions(file)).hasSize(2);
        try (FileChannel open = SegmentFile.open(file, 3_000_000)) {
            assertThat(SegmentFile.map(open).get(2_999_999)).isZero();
        }
        assertThatThrownBy(() -> SegmentFile.open(file, 4096))
                .hasMessageContainingAll("3000000 bytes", "expected 4096");
    }

    /** A job that was killed before all of its ranks had mapped the file has left it. */
    @Test
    void whatAKilledJobHasLeftIsTakenAwayByALaterOneButNotWhatIsNew() throws Exception {
        Path left = SegmentFile.create(folder, 4096);
        Files.setLastModifiedTime(left, FileTime.from(Instant.now().minus(Duration.ofHours(1))));
        Path other = Files.createFile(folder.resolve("other.shm"));
        Files.setLastModifiedTime(other, FileTime.from(Instant.now().minus(Duration.ofHours(1))));
        Path fresh = SegmentFile.create(folder, 4096);
        SegmentFile.create(folder, 4096);
        assertThat(left).doesNotExist();
        assertThat(fresh).exists();
        assertThat(other).exists();
    }

    @Test
    void theSizeThatTheDoctorIsToldIsThatOfTheSegment() {
        for (int ranks : new int[] {1, 2, 3, 64}) {
            Layout layout = new Layout(ranks, SegmentSize.stageBytes(ranks, true));
            assertThat(SegmentSize.bytes(ranks, true))
                    .isEqualTo(layout.bytes())
                    .isEqualTo(layout.result(1) + layout.stageBytes());
        }
        assertThat(SegmentSize.bytes(2, false)).isEqualTo(6 * (4 << 20) + 4096);
        assertThat(SegmentSize.bytes(1000, false)).isGreaterThan(Integer.MAX_VALUE);
    }

    /** A lock that goes early would be taken for a death, and a file that stays open would keep its memory for ever. */
    @Test
    void aSegmentStaysOpenUntilItsRanksLeaveItAndNoLonger() throws Exception {
        run(2, (shared, beneath) -> {
            Collectives set = shared.collectives(List.of(0, 1));
            beneath.allgather(Tensor.of(0f), Tensor.of(new float[2]), new long[] {1, 1});
            assertThat(openSegments()).isEqualTo(4);
            beneath.allgather(Tensor.of(0f), Tensor.of(new float[2]), new long[] {1, 1});
            set.close();
        });
        assertThat(openSegments()).isZero();
    }

    private long openSegments() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(this::isSegment).count();
        }
    }

    private boolean isSegment(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).startsWith(folder);
        } catch (IOException gone) {
            return false;
        }
    }
}
