package io.hvd.host.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ShutdownException;
import io.hvd.host.local.LocalProvider;
import io.hvd.host.memory.Layout;
import io.hvd.host.memory.TwoLevelCollectives;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.AgainstOracle;
import io.hvd.testing.OnNodes;
import io.hvd.testing.PlainCollectives;
import io.hvd.testing.PlainLoop;
import java.io.IOException;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as threads that share a file. */
@Timeout(120)
class SharedCollectivesTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    @TempDir
    private Path folder;

    private interface Body {
        void run(Backend shared, AgainstOracle check) throws Exception;
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
        List<LocalProvider> team = LocalProvider.ofThreads(hosts.size(), 4096);
        List<Collectives> oracles = PlainCollectives.team(hosts.size());
        for (int i = 0; i < team.size(); i++) {
            BackendProvider local = OnNodes.of(team.get(i), i, hosts);
            int rank = i;
            ranks.add(CompletableFuture.supplyAsync(
                    () -> {
                        try (Backend shared = open(local.open(config, List.of()), folder)) {
                            body.run(
                                    shared,
                                    new AgainstOracle(shared.collectives(), oracles.get(rank), rank, hosts.size()));
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

    private static Backend open(Backend threads, Path folder) {
        SharedPlanes planes =
                new SharedPlanes(threads.planes(), threads.topology(), threads::exchange, ReduceKernel.NONE, folder);
        return threads.with(planes.note() + threads.description(), planes);
    }

    /** That of the start has a limit and names who is silent, which a collective of ranks that still start has not. */
    @Test
    void theSegmentOfAllRanksIsSetUpByTheExchangeOfTheStart() {
        Backend threads = LocalProvider.ofThreads(2, 4096).get(0).open(HvdConfig.from(Map.of()), List.of());
        assertThatThrownBy(() -> new SharedPlanes(
                        threads.planes(),
                        threads.topology(),
                        mine -> {
                            throw new ShutdownException("rank 1 is silent");
                        },
                        ReduceKernel.NONE,
                        folder))
                .hasMessageContaining("rank 1 is silent");
    }

    /**
     * One step, one round, several rounds with a rest; alone and in batches with tensors of no elements. What takes several
     * rounds is reduced by one operation for each type, in turns.
     */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void everyTypeAndOperatorGivesTheBitsOfTheOracle(int size) throws Exception {
        List<ReduceOp> ops = List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);
        int[][] small = {{0}, {1}, {0, 3, 0}, {512}, {513}, {1500}};
        int[][] large = {{40_001}, {131_172}, {5, 300_000, 1, 70_000}};
        List<String> said = run(size, (shared, check) -> {
            for (DType type : DType.values()) {
                for (ReduceOp op : ops) {
                    for (int[] sizes : small) {
                        check.allreduce(new Reduction(op, type, 1, 1), sizes, type);
                    }
                }
                ReduceOp ofLarge = ops.get(type.ordinal() % ops.size());
                for (int[] sizes : large) {
                    check.allreduce(new Reduction(ofLarge, type, 1, 1), sizes, type);
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
    @ValueSource(strings = {"a,a,a", "a,a,b,b", "a,b,b"})
    void valuesThatOverflowComeToWhatAPlainLoopComesTo(String hosts) throws Exception {
        requireOverflowsOfAPlainLoop(hosts);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a,a", "a,b,a,b,a,b", "a,b,b,a,b,c"})
    @Tag("long")
    void valuesThatOverflowOnOtherHostsComeToThatToo(String hosts) throws Exception {
        requireOverflowsOfAPlainLoop(hosts);
    }

    private void requireOverflowsOfAPlainLoop(String hosts) throws Exception {
        List<Integer> ranks =
                IntStream.range(0, hosts.split(",").length).boxed().toList();
        run(List.of(hosts.split(",")), folder, (shared, check) -> {
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
    @ValueSource(strings = {"a,a", "a,a,a", "a,a,b,b", "a,a,b"})
    void aShortLastRoundIsAsRightAsTheOthers(String hosts) throws Exception {
        run(List.of(hosts.split(",")), folder, (shared, check) -> {
            for (int whole : new int[] {131_072, 4096 + 1_048_576}) {
                for (int rest : new int[] {1, 30, 31, 500, 2049}) {
                    Reduction sum = new Reduction(ReduceOp.SUM, DType.INT32, 1, 1);
                    check.allreduce(sum, new int[] {whole + rest}, DType.INT32);
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void scalesAndCompressesOnTheWay(int size) throws Exception {
        run(size, (shared, check) -> {
            for (DType wire : List.of(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)) {
                Reduction how = new Reduction(ReduceOp.SUM, wire, 0.5, 0.25);
                check.allreduce(how, new int[] {7, 100_000}, DType.FLOAT32);
            }
            for (DType type : List.of(DType.FLOAT64, DType.FLOAT16, DType.INT32, DType.INT64, DType.UINT8)) {
                for (int divisor : new int[] {1, 3}) {
                    Reduction how = new Reduction(ReduceOp.SUM, type, 2, 0.25, divisor);
                    check.allreduce(how, new int[] {200}, type);
                    check.allreduce(how, new int[] {7, 100_000}, type);
                }
            }
        });
    }

    /** Slow ranks must not be overtaken: sizes alternate, and a rank sleeps now and then. */
    @Test
    void roundsOfDifferentSizesFollowEachOtherHoweverTheRanksDawdle() throws Exception {
        requireOrderOfRounds("a,a,a");
    }

    @Test
    @Tag("long")
    void roundsOfTwoRanksFollowEachOtherHoweverTheyDawdle() throws Exception {
        requireOrderOfRounds("a,a");
    }

    /** Few bytes take one step there, in which every rank meets its partners on the other hosts. */
    @ParameterizedTest
    @ValueSource(strings = {"a,b,b,a", "a,b,b"})
    void roundsBetweenHostsFollowEachOtherHoweverTheRanksDawdle(String hosts) throws Exception {
        requireOrderOfRounds(hosts);
    }

    private void requireOrderOfRounds(String hosts) throws Exception {
        int size = hosts.split(",").length;
        run(List.of(hosts.split(",")), folder, (shared, check) -> {
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
        run(3, (shared, check) -> {
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

    /** A sum of floats depends on the order of adding, and ranks at different places of their hosts add for themselves. */
    @ParameterizedTest
    @ValueSource(strings = {"a,b,b,a", "a,b,c,a,b,c", "a,b,b"})
    void allRanksGetTheSameBitsFromOtherHosts(String hosts) throws Exception {
        run(List.of(hosts.split(",")), folder, (shared, check) -> {
            Random values = new Random(check.rank());
            for (int elements : new int[] {1, 30, 400, 1200, 3000, 40_001}) {
                float[] mine = new float[elements];
                for (int i = 0; i < elements; i++) {
                    mine[i] = (float) (values.nextGaussian() * Math.exp(5 * values.nextGaussian()));
                }
                Tensor sum = Tensor.of(mine);
                shared.collectives().allreduce(List.of(sum), List.of(sum), SUM);
                Tensor all = Tensor.of(new float[check.size() * elements]);
                long[] each = new long[check.size()];
                Arrays.fill(each, elements);
                check.oracle().allgather(sum, all, each);
                for (int rank = 0; rank < check.size(); rank++) {
                    assertThat(Arrays.copyOfRange(all.toFloatArray(), rank * elements, (rank + 1) * elements))
                            .as("%d elements of rank %d", elements, rank)
                            .isEqualTo(sum.toFloatArray());
                }
            }
        });
    }

    /** Values whose sums are exact, because the order of adding is another one with hosts between. */
    @ParameterizedTest
    @ValueSource(strings = {"a,b,a,b,a,b", "a,b,a,a"})
    void betweenHostsTheSlicesOfAllRanksAreCombined(String hosts) throws Exception {
        requireSlicesCombined(hosts);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a,a,b,b", "a,a,a,b,b,b", "a,b,c,b,c,c"})
    @Tag("long")
    void betweenOtherHostsTheyAreToo(String hosts) throws Exception {
        requireSlicesCombined(hosts);
    }

    private void requireSlicesCombined(String hosts) throws Exception {
        List<String> said = run(List.of(hosts.split(",")), folder, (shared, check) -> {
            for (DType type : List.of(DType.FLOAT32, DType.INT64, DType.INT8)) {
                // The small first round, two whole ones and a rest; of one byte per element, no whole one.
                int many = 9_000_000 / Math.max(4, type.bytes());
                for (int[] sizes : new int[][] {{0}, {1}, {0, 3, 0}, {40_001}, {5, many, 1, 70_000}}) {
                    check.sum(type, sizes);
                }
            }
        });
        assertThat(said).allMatch(words -> words.startsWith("shared memory in each host ("));
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @CsvSource({"0, a a b b", "5, a a b b", "1200000, a a b b", "0, a b b b", "5, a b b b", "1200000, a a b c"})
    void aVetoIsHeardOnOtherHosts(int elements, String hosts) throws Exception {
        run(List.of(hosts.split(" ")), folder, (shared, check) -> {
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
                    float[] expected = new float[elements];
                    Arrays.fill(expected, vetoed ? 2 : 8);
                    assertThat(tensor.toFloatArray()).isEqualTo(expected);
                }
            }
        });
    }

    /** And where every host has one rank alone, there is nothing to share. */
    @Test
    void hostsOfOneRankEachDoWithout() throws Exception {
        List<String> said = run(List.of("a", "b", "c"), folder, (shared, check) -> {});
        assertThat(said).allMatch(words -> words.startsWith("local"));
    }

    /** Pieces of all lengths, none among them, over several rounds. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void whatMovesDataComesToTheSameAsTheOracle(int size) throws Exception {
        run(size, (shared, check) -> {
            for (int seed = 0; seed < 6; seed++) {
                check.movement(seed, 300_000);
            }
        });
    }

    /** Also hosts whose ranks are not side by side. */
    @ParameterizedTest
    @ValueSource(strings = {"a,b,b,a", "a,a,b,b,c,c", "a,b,b", "a,b,a,c"})
    void whatMovesDataBetweenHostsComesToTheSameAsTheOracle(String hosts) throws Exception {
        requireMovementOfOracle(hosts);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a,a,b,b", "a,b,a,b,a,b", "a,b,b,c,c,c"})
    @Tag("long")
    void soDoesWhatMovesDataBetweenOtherHosts(String hosts) throws Exception {
        requireMovementOfOracle(hosts);
    }

    private void requireMovementOfOracle(String hosts) throws Exception {
        List<String> nodes = List.of(hosts.split(","));
        int seeds = nodes.size() > 4 ? 1 : 3;
        run(nodes, folder, (shared, check) -> {
            for (int seed = 0; seed < seeds; seed++) {
                check.movement(seed, 600_000);
            }
            check.bigBroadcast();
            check.bigPieces();
        });
    }

    @Test
    void aSetOfUnequalNumbersOnTwoHostsHasSegmentsOfItsOwn() throws Exception {
        run(List.of("a", "a", "b", "b"), folder, (shared, check) -> {
            if (shared.topology().rank() != 2) {
                Collectives set = shared.collectives(List.of(0, 1, 3));
                float[] ones = new float[100_000];
                Arrays.fill(ones, 1);
                Tensor tensor = Tensor.wrap(ones, DType.FLOAT32, Shape.of(ones.length));
                set.allreduce(List.of(tensor), List.of(tensor), SUM);
                assertThat(tensor.toFloatArray()).containsOnly(3f);
                assertThat(set).isInstanceOf(TwoLevelCollectives.class);
            }
        });
    }

    @Test
    void processSetsHaveSegmentsOfTheirOwn() throws Exception {
        run(3, (shared, check) -> {
            int rank = shared.topology().rank();
            if (rank != 1) {
                Collectives set = shared.collectives(List.of(0, 2));
                Tensor tensor = Tensor.of(rank + 1f);
                set.allreduce(List.of(tensor), List.of(tensor), SUM);
                assertThat(tensor.item()).isEqualTo(4);
            }
        });
    }

    @Test
    void aLoneRankHasNoSegment() throws Exception {
        run(1, (shared, check) -> {
            DataPlane set = shared.collectives(List.of(0));
            assertThat(openSegments()).isZero();
            Tensor tensor = Tensor.of(3f);
            set.allreduce(List.of(tensor), List.of(tensor), SUM);
            assertThat(tensor.item()).isEqualTo(3);
        });
    }

    @Test
    void withoutAFolderInMemoryTheBackEndBeneathDoesTheWorkAndTheReasonIsSaid() throws Exception {
        Path missing = folder.resolve("missing");
        List<String> said = run(List.of("a", "a"), missing, (shared, check) -> {
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
            Layout layout = new Layout(ranks, SegmentSize.stageBytes(ranks, 1));
            assertThat(SegmentSize.bytes(ranks, ranks, 1)).isEqualTo(layout.bytes());
        }
        assertThat(SegmentSize.bytes(2, 4, 2)).isEqualTo(6 * (1 << 20) + 4096);
        assertThat(SegmentSize.bytes(2, 7, 3)).isEqualTo(6 * (7 << 18) + 4096);
        assertThat(SegmentSize.bytes(2, 200, 100)).isEqualTo(6 * (4 << 20) + 4096);
        assertThat(SegmentSize.bytes(1000, 2000, 2)).isGreaterThan(Integer.MAX_VALUE);
    }

    /** A lock that goes early would be taken for a death, and a file that stays open would keep its memory for ever. */
    @Test
    void aSegmentStaysOpenUntilItsRanksLeaveItAndNoLonger() throws Exception {
        run(2, (shared, check) -> {
            Collectives set = shared.collectives(List.of(0, 1));
            check.oracle().allgather(Tensor.of(0f), Tensor.of(new float[2]), new long[] {1, 1});
            assertThat(openSegments()).isEqualTo(4);
            check.oracle().allgather(Tensor.of(0f), Tensor.of(new float[2]), new long[] {1, 1});
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
