package io.hvd.contract;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * A program made of a seed and run by every rank: rounds of operations on several process sets, in
 * another order on each rank, blocking or not, and joins at the end. Each result is compared with what
 * plain Java makes of all ranks' inputs, one rank after the other. The seed alone gives the program,
 * so a failure names it and nothing else.
 */
final class RandomPrograms {
    private final long seed;
    private final HvdContext hvd;
    private final Random common;
    private final Random own;
    private final List<ProcessSet> sets = new ArrayList<>();

    private RandomPrograms(long seed, HvdContext hvd) {
        this.seed = seed;
        this.hvd = hvd;
        this.common = new Random(seed);
        this.own = new Random(seed * 31 + hvd.rank());
    }

    /** Every rank calls it with the same seed. */
    static void run(long seed, HvdContext hvd) {
        try {
            new RandomPrograms(seed, hvd).run();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError(
                    "random program with seed " + seed + " on rank " + hvd.rank() + " of " + hvd.size() + ": "
                            + e.getMessage(),
                    e);
        }
    }

    private void run() {
        sets.add(hvd);
        if (common.nextBoolean()) {
            addSets();
        }
        int rounds = 1 + common.nextInt(4);
        for (int round = 0; round < rounds; round++) {
            // More than ten identical rounds of allreduces become a static plan.
            int times = common.nextInt(3) == 0 ? 10 + common.nextInt(8) : 1 + common.nextInt(3);
            List<Operation> operations = operations(round, times > 3 && common.nextBoolean());
            boolean blocking = common.nextInt(4) == 0;
            for (int time = 0; time < times; time++) {
                round(operations, time, blocking);
            }
        }
        if (common.nextInt(3) == 0) {
            joinAll();
        }
        Collections.shuffle(sets, common);
        sets.stream().filter(set -> set != hvd).forEach(hvd::removeProcessSet);
    }

    private void addSets() {
        List<List<Integer>> known = new ArrayList<>();
        for (int i = common.nextInt(3); i >= 0; i--) {
            List<Integer> members = new ArrayList<>(IntStream.range(0, hvd.size())
                    .filter(rank -> common.nextBoolean())
                    .boxed()
                    .toList());
            if (!members.isEmpty() && members.size() < hvd.size() && !known.contains(members)) {
                known.add(List.copyOf(members));
                Collections.shuffle(members, common);
                sets.add(hvd.addProcessSet(members));
            }
        }
    }

    private List<Operation> operations(int round, boolean allreducesOnly) {
        List<Operation> operations = new ArrayList<>();
        for (int i = common.nextInt(6); i >= 0; i--) {
            Kind kind = allreducesOnly ? Kind.ALLREDUCE : Kind.values()[common.nextInt(Kind.values().length)];
            ProcessSet set = sets.get(common.nextInt(sets.size()));
            operations.add(new Operation("p" + round + "." + i, kind, set, common.nextLong()));
        }
        return operations;
    }

    private void round(List<Operation> operations, int time, boolean blocking) {
        List<Operation> mine = new ArrayList<>(operations.stream()
                .filter(operation -> operation.set.included())
                .toList());
        if (!blocking) {
            // Blocking operations come last, in the same order everywhere, so that no rank waits for another's turn.
            List<Operation> last =
                    mine.stream().filter(operation -> operation.kind.blocks).toList();
            mine.removeAll(last);
            Collections.shuffle(mine, own);
            mine.addAll(last);
        }
        List<Runnable> checks = new ArrayList<>();
        for (Operation operation : mine) {
            Runnable check = operation.start(time);
            if (blocking) {
                check.run();
            } else {
                checks.add(check);
            }
        }
        Collections.shuffle(checks, own);
        checks.forEach(Runnable::run);
    }

    /** Rank r has its own number of steps; whoever is left goes on. */
    private void joinAll() {
        int[] steps =
                IntStream.range(0, hvd.size()).map(rank -> common.nextInt(5)).toArray();
        JoinDivisor divisor = JoinDivisor.values()[common.nextInt(2)];
        ReduceOp[] ops = {ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT};
        for (int step = 0; step < 5; step++) {
            ReduceOp op = ops[common.nextInt(ops.length)];
            int size = common.nextInt(50);
            DType type = common.nextBoolean() ? DType.FLOAT64 : DType.INT32;
            if (step < steps[hvd.rank()]) {
                int now = step;
                List<Integer> active = IntStream.range(0, hvd.size())
                        .filter(rank -> now < steps[rank])
                        .boxed()
                        .toList();
                Tensor sum = hvd.allreduce(
                        "join." + step, tensor(type, Shape.of(size), hvd.rank(), step), AllreduceOptions.of(op));
                int by = divisor == JoinDivisor.ACTIVE ? active.size() : hvd.size();
                double[] expected = reduced(op, type, active, size, step, by);
                require("join step " + step, sum, type, expected);
            }
        }
        int last = hvd.join(divisor);
        Tensor all = hvd.allgather("join.last", Tensor.of(last));
        for (int found : (int[]) all.toArray()) {
            requireTrue(found == last, "rank " + hvd.rank() + " heard " + last + " joined last, another one " + found);
        }
    }

    private enum Kind {
        ALLREDUCE(false),
        GROUP(false),
        ALLGATHER(false),
        GROUP_ALLGATHER(false),
        BROADCAST(false),
        ALLTOALL(false),
        REDUCESCATTER(false),
        GROUP_REDUCESCATTER(false),
        BARRIER(false),
        TRANSFER(false),
        REDUCE(true),
        GATHER(true),
        SCATTER(true);

        private final boolean blocks;

        Kind(boolean blocks) {
            this.blocks = blocks;
        }
    }

    /** One operation of a round; all its choices come from its seed, so every rank makes the same ones. */
    private final class Operation {
        private final String name;
        private final Kind kind;
        private final ProcessSet set;
        private final int size;
        private final int self;
        private final int root;
        private final DType type;
        private final ReduceOp op;
        private final double prescale;
        private final int columns;
        private final int base;
        private final int count;
        private final boolean inPlace;
        private final long splits;

        Operation(String name, Kind kind, ProcessSet set, long seed) {
            Random random = new Random(seed);
            this.name = name;
            this.kind = kind;
            this.set = set;
            this.size = set.size();
            this.self = set.included() ? set.rank() : -1;
            this.root = random.nextInt(size);
            this.type = DType.values()[random.nextInt(DType.values().length)];
            this.op = op(random);
            this.prescale = type == DType.BOOL || op == ReduceOp.PRODUCT || random.nextBoolean() ? 1 : 2;
            this.columns = 1 + random.nextInt(4);
            // Now and then more than a stage of the local back end.
            this.base = random.nextInt(200) == 0 ? 33_000 + random.nextInt(100) : random.nextInt(40);
            this.count = 1 + random.nextInt(4);
            this.inPlace = random.nextBoolean();
            this.splits = random.nextLong();
        }

        private ReduceOp op(Random random) {
            boolean scatters = kind == Kind.REDUCESCATTER || kind == Kind.GROUP_REDUCESCATTER;
            ReduceOp[] all = scatters
                    ? new ReduceOp[] {ReduceOp.SUM, ReduceOp.AVERAGE}
                    : new ReduceOp[] {ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT};
            ReduceOp chosen = all[random.nextInt(all.length)];
            return type == DType.BOOL && chosen == ReduceOp.AVERAGE ? ReduceOp.SUM : chosen;
        }

        /** @return the wait for the result and its check */
        Runnable start(int time) {
            return switch (kind) {
                case ALLREDUCE -> allreduce(time);
                case GROUP -> group(time);
                case ALLGATHER -> checked(set.allgatherAsync(name, rows(self, time)), () -> gathered(time));
                case GROUP_ALLGATHER -> {
                    List<Tensor> inputs = repeated(() -> rows(self, time));
                    List<Handle> handles = set.groupedAllgatherAsync(name, inputs);
                    yield () -> handles.forEach(
                            handle -> checked(handle, () -> gathered(time)).run());
                }
                case BROADCAST ->
                    checked(
                            set.broadcastAsync(
                                    name, whole(self, time), set.ranks().get(root)),
                            () -> values(root, base * columns, time));
                case ALLTOALL -> alltoall(time);
                case REDUCESCATTER ->
                    checked(
                            set.reducescatterAsync(name, whole(self, time), options()),
                            () -> share(reducedOfAll(time)));
                case GROUP_REDUCESCATTER -> {
                    List<Tensor> inputs = repeated(() -> whole(self, time));
                    List<Handle> handles = set.groupedReducescatterAsync(name, inputs, options());
                    yield () -> handles.forEach(handle ->
                            checked(handle, () -> share(reducedOfAll(time))).run());
                }
                case BARRIER -> set.barrierAsync()::synchronize;
                case TRANSFER -> transfer(time);
                case REDUCE -> {
                    int global = set.ranks().get(root);
                    yield onRoot(set.reduce(name, whole(self, time), options(), global), () -> reducedOfAll(time));
                }
                case GATHER ->
                    onRoot(set.gather(name, rows(self, time), set.ranks().get(root)), () -> gathered(time));
                case SCATTER -> {
                    Tensor given = self == root ? whole(root, time) : null;
                    Tensor part = set.scatter(name, given, set.ranks().get(root));
                    yield () -> require(name, part, type, share(values(root, base * columns, time)));
                }
            };
        }

        private Runnable allreduce(int time) {
            Tensor input = whole(self, time);
            Handle handle = inPlace
                    ? set.allreduceInPlaceAsync(name, input, options())
                    : set.allreduceAsync(name, input, options());
            return checked(handle, () -> reducedOfAll(time));
        }

        private Runnable group(int time) {
            List<Tensor> inputs = repeated(() -> whole(self, time));
            List<Handle> handles = inPlace
                    ? set.groupedAllreduceInPlaceAsync(name, inputs, options())
                    : set.groupedAllreduceAsync(name, inputs, options());
            return () -> handles.forEach(
                    handle -> checked(handle, () -> reducedOfAll(time)).run());
        }

        private Runnable alltoall(int time) {
            int[] sent = splits(self);
            Handle handle = set.alltoallAsync(name, rowsFor(self, sent, time), sent);
            return () -> {
                AlltoallResult result = handle.received();
                List<double[]> parts = new ArrayList<>();
                for (int from = 0; from < size; from++) {
                    int[] theirs = splits(from);
                    requireTrue(
                            result.receivedSplits()[from] == theirs[self],
                            name + ": " + result.receivedSplits()[from] + " rows from " + from);
                    int first = Arrays.stream(theirs, 0, self).sum() * columns;
                    double[] all = values(from, Arrays.stream(theirs).sum() * columns, time);
                    parts.add(Arrays.copyOfRange(all, first, first + theirs[self] * columns));
                }
                require(name, result.output(), type, concatenated(parts));
            };
        }

        private Runnable transfer(int time) {
            if (size == 1) {
                return () -> {};
            }
            int to = (root + 1) % size;
            int tag = name.hashCode();
            if (self == root) {
                return set.sendAsync(whole(self, time), set.ranks().get(to), tag)::synchronize;
            }
            if (self == to) {
                Tensor here = Tensor.zeros(type, Shape.of(base, columns));
                Handle handle = set.receiveAsync(here, set.ranks().get(root), tag);
                return checked(handle, () -> values(root, base * columns, time));
            }
            return () -> {};
        }

        private Runnable checked(Handle handle, Supplier<double[]> expected) {
            return () -> require(name + " " + kind, handle.synchronize(), type, expected.get());
        }

        private Runnable onRoot(Tensor result, Supplier<double[]> expected) {
            return () -> {
                requireTrue((result != null) == (self == root), name + ": result " + result + " on " + self);
                if (result != null) {
                    require(name + " " + kind, result, type, expected.get());
                }
            };
        }

        private AllreduceOptions options() {
            return AllreduceOptions.of(op).withPrescale(prescale);
        }

        private List<Tensor> repeated(Supplier<Tensor> make) {
            return java.util.stream.Stream.generate(make).limit(count).toList();
        }

        /** Every rank has as many rows. */
        private Tensor whole(int rank, int time) {
            return tensor(type, Shape.of(base, columns), rank, time);
        }

        /** Every rank has its own number of rows. */
        private Tensor rows(int rank, int time) {
            return tensor(type, Shape.of(rowsOf(rank), columns), rank, time);
        }

        private int rowsOf(int rank) {
            return base + (rank * 7 + root) % 5;
        }

        private int[] splits(int rank) {
            Random random = new Random(splits + rank);
            return IntStream.range(0, size).map(to -> random.nextInt(4)).toArray();
        }

        private Tensor rowsFor(int rank, int[] splits, int time) {
            return tensor(type, Shape.of(Arrays.stream(splits).sum(), columns), rank, time);
        }

        private double[] values(int rank, int length, int time) {
            return IntStream.range(0, length)
                    .mapToDouble(i -> value(type, i, rank, time))
                    .toArray();
        }

        private double[] gathered(int time) {
            return concatenated(IntStream.range(0, size)
                    .mapToObj(rank -> values(rank, rowsOf(rank) * columns, time))
                    .toList());
        }

        private double[] reducedOfAll(int time) {
            List<Integer> all = IntStream.range(0, size).boxed().toList();
            double[] result = reduced(op, type, all, base * columns, time, size);
            if (prescale == 1) {
                return result;
            }
            double[] sums = reduced(op == ReduceOp.AVERAGE ? ReduceOp.SUM : op, type, all, base * columns, time, size);
            return Arrays.stream(sums)
                    .map(sum -> op == ReduceOp.AVERAGE ? divided(type, sum * prescale, size) : sum * prescale)
                    .toArray();
        }

        private double[] share(double[] whole) {
            int extra = Math.min(self, base % size);
            int first = (base / size * self + extra) * columns;
            int rows = base / size + (self < base % size ? 1 : 0);
            return Arrays.copyOfRange(whole, first, first + rows * columns);
        }
    }

    /** 0 or 1 for truths, 1 or 2 for the others: products of a few ranks stay exact in every type. */
    private static int value(DType type, int index, int rank, int time) {
        int bit = (index * 3 + rank * 5 + time * 7 + index / 11 * rank) & 1;
        return type == DType.BOOL ? bit : bit + 1;
    }

    private static Tensor tensor(DType type, Shape shape, int rank, int time) {
        return Values.tensor(type, shape, i -> value(type, i, rank, time));
    }

    private static double[] reduced(ReduceOp op, DType type, List<Integer> ranks, int length, int time, int by) {
        double[] result = new double[length];
        ReduceOp combining = op == ReduceOp.AVERAGE ? ReduceOp.SUM : op;
        for (int i = 0; i < length; i++) {
            int all = value(type, i, ranks.get(0), time);
            for (int rank : ranks.subList(1, ranks.size())) {
                all = Values.combined(type, combining, all, value(type, i, rank, time));
            }
            result[i] = op == ReduceOp.AVERAGE ? divided(type, all, by) : all;
        }
        return result;
    }

    private static double divided(DType type, double sum, int by) {
        double exact = sum * (1.0 / by);
        return type.isFloating() ? exact : Math.floor(exact);
    }

    private static double[] concatenated(List<double[]> parts) {
        return parts.stream().flatMapToDouble(Arrays::stream).toArray();
    }

    private static void require(String what, Tensor found, DType type, double[] expected) {
        requireTrue(found.dtype() == type, what + ": type " + found.dtype() + " instead of " + type);
        float[] values = found.toFloatArray();
        requireTrue(
                values.length == expected.length,
                what + ": " + values.length + " elements instead of " + expected.length);
        double precision = type == DType.BFLOAT16 ? 1e-2 : type == DType.FLOAT16 ? 1e-3 : 1e-6;
        for (int i = 0; i < values.length; i++) {
            requireTrue(
                    Math.abs(values[i] - expected[i]) <= precision * Math.abs(expected[i]),
                    what + " of " + type + " at " + i + ": " + values[i] + " instead of " + expected[i]);
        }
    }

    private static void requireTrue(boolean fact, String otherwise) {
        if (!fact) {
            throw new AssertionError(otherwise);
        }
    }
}
