package io.hvd.contract.explorer;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.contract.program.Action;
import io.hvd.contract.program.Elements;
import io.hvd.contract.program.Kind;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Op.Flaw.What;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/** One rank's part in an operation: its tensors, the call of hvd's, and what is said to the result. */
final class Call {
    /** Between two polls: without it a rank that waits for seconds keeps a core from all others. */
    private static final long PAUSE_NANOS = 100_000;

    private final Op op;
    private final int rank;
    private final HvdContext hvd;
    private final ProcessSet set;
    private final List<Piece> pieces = new ArrayList<>();
    private final List<Tensor> results = new ArrayList<>();
    private List<Handle> handles = List.of();
    private AlltoallResult exchanged;
    private Object object;
    private ProcessSet added;
    private final KeptAllreduces kept;
    /** Null where this call goes another way. */
    private KeptAllreduces.Kept prepared;

    /**
     * @param set null for what needs none but the context
     * @param kept prepared allreduces of this rank
     */
    Call(Op op, HvdContext hvd, ProcessSet set, KeptAllreduces kept) {
        this.kept = kept;
        this.op = op;
        this.hvd = hvd;
        this.rank = hvd.rank();
        this.set = set;
        int count = needsTensor() ? Math.max(1, op.content().count()) : 0;
        for (int part = 0; part < count; part++) {
            pieces.add(piece(part));
        }
    }

    private boolean needsTensor() {
        return op.kind().ordinal() < Kind.BARRIER.ordinal() && !(op.kind() == Kind.SCATTER && rank != root());
    }

    private Piece piece(int part) {
        boolean flawed = op.isFlawedOn(rank);
        DType type = op.content().type(part);
        if (flawed && op.flaw().what() == What.TYPE) {
            type = type == DType.FLOAT64 ? DType.INT32 : DType.FLOAT64;
        }
        int rows = op.rowsOf(rank)
                + (flawed && op.flaw().what() == What.SHAPE && !op.kind().gathers() ? 1 : 0);
        int columns = op.content().columns()
                + (flawed && op.flaw().what() == What.SHAPE && op.kind().gathers() ? 1 : 0);
        Shape shape = op.content().rows() < 0 && rows < 0 ? Shape.of() : Shape.of(Math.max(0, rows), columns);
        int odd = part;
        return Piece.of(type, shape, op.choice(rank, 1, Piece.KINDS), i -> op.bits(rank, odd, i));
    }

    private boolean isInPlace() {
        return op.choice(rank, 2, 2) == 0;
    }

    private int root() {
        if (op.isFlawedOn(rank) && op.flaw().what() == What.ROOT) {
            return op.members().get((op.members().indexOf(op.root()) + 1) % op.size());
        }
        return op.root();
    }

    private AllreduceOptions options() {
        AllreduceOptions options = op.how().options();
        if (!op.isFlawedOn(rank)) {
            return options;
        }
        return switch (op.flaw().what()) {
            case REDUCE_OP ->
                new AllreduceOptions(
                        options.op() == ReduceOp.SUM && !op.kind().scatters() ? ReduceOp.MAX : ReduceOp.SUM,
                        options.prescale(),
                        options.postscale(),
                        options.compression());
            case SCALE -> options.withPrescale(options.prescale() * 4);
            default -> options;
        };
    }

    private Tensor tensor() {
        return pieces.isEmpty() ? null : pieces.get(0).tensor();
    }

    private List<Tensor> tensors() {
        return pieces.stream().map(Piece::tensor).toList();
    }

    /** Asks and waits in one call. */
    void callAndWait() {
        String name = op.name();
        if (op.isFlawedOn(rank) && op.flaw().what() == What.KIND) {
            start();
            finish(Action.SYNCHRONIZE);
            return;
        }
        if (isPrepared()) {
            start();
            finish(Action.SYNCHRONIZE);
            return;
        }
        switch (op.kind()) {
            case ALLREDUCE ->
                results.add(
                        isInPlace()
                                ? set.allreduceInPlace(name, tensor(), options())
                                : set.allreduce(name, tensor(), options()));
            case GROUP_ALLREDUCE -> {
                if (isInPlace()) {
                    set.groupedAllreduceInPlace(name, tensors(), options());
                    results.addAll(tensors());
                } else {
                    results.addAll(set.groupedAllreduce(name, tensors(), options()));
                }
            }
            case ALLGATHER -> results.add(set.allgather(name, tensor()));
            case GROUP_ALLGATHER -> results.addAll(set.groupedAllgather(name, tensors()));
            case BROADCAST ->
                results.add(
                        isInPlace()
                                ? set.broadcastInPlace(name, tensor(), root())
                                : set.broadcast(name, tensor(), root()));
            case ALLTOALL -> {
                exchanged = op.hasEvenSplits()
                        ? set.alltoall(name, tensor())
                        : set.alltoall(name, tensor(), op.splitsOf(rank));
                results.add(exchanged.output());
            }
            case REDUCESCATTER -> results.add(set.reducescatter(name, tensor(), options()));
            case GROUP_REDUCESCATTER -> results.addAll(set.groupedReducescatter(name, tensors(), options()));
            case REDUCE -> results.add(set.reduce(name, tensor(), options(), root()));
            case GATHER -> results.add(set.gather(name, tensor(), root()));
            case SCATTER -> results.add(set.scatter(name, tensor(), root()));
            case TRANSFER -> {
                if (sends()) {
                    set.send(tensor(), peer(), tag());
                } else {
                    results.add(set.receive(tensor(), peer(), tag()));
                }
            }
            case BARRIER -> set.barrier();
            case LIMITED_BARRIER -> set.monitoredBarrier(Duration.ofMillis(op.limitMillis()));
            case BROADCAST_OBJECT ->
                object = set.broadcastObject(name, rank == root() ? words(rank) : null, ObjectCodec.utf8(), root());
            case ALLGATHER_OBJECT -> object = set.allgatherObject(name, words(rank), ObjectCodec.utf8());
            case JOIN -> object = set.join(joinDivisor());
            case ADD_SET -> added = hvd.addProcessSet(members());
            case REMOVE_SET -> hvd.removeProcessSet(set);
        }
    }

    /** Asks and goes on. */
    void start() {
        if (op.isFlawedOn(rank) && op.flaw().what() == What.KIND) {
            handles = List.of(
                    op.kind() == Kind.ALLREDUCE
                            ? set.broadcastAsync(
                                    op.name(), tensor(), op.members().get(0))
                            : set.allreduceAsync(op.name(), tensor(), AllreduceOptions.sum()));
            return;
        }
        if (isPrepared()) {
            prepared = kept.of(set, op.name(), tensor(), options());
            prepared.tensor().copyFrom(tensor());
            prepared.allreduce().start();
        } else {
            handles = new ArrayList<>(begun(op.name()));
        }
    }

    private boolean isPrepared() {
        return op.kind() == Kind.ALLREDUCE && isInPlace() && op.name() != null && op.choice(rank, 6, 3) == 0;
    }

    private List<Handle> begun(String name) {
        return switch (op.kind()) {
            case ALLREDUCE -> {
                if (isInPlace() && name != null && op.choice(rank, 3, 3) == 0) {
                    Map<String, Tensor> one = new LinkedHashMap<>();
                    one.put(name, tensor());
                    yield set.allreduceInPlaceAsync(one, options());
                }
                yield List.of(
                        isInPlace()
                                ? set.allreduceInPlaceAsync(name, tensor(), options())
                                : set.allreduceAsync(name, tensor(), options()));
            }
            case GROUP_ALLREDUCE ->
                isInPlace()
                        ? set.groupedAllreduceInPlaceAsync(name, tensors(), options())
                        : set.groupedAllreduceAsync(name, tensors(), options());
            case ALLGATHER -> List.of(set.allgatherAsync(name, tensor()));
            case GROUP_ALLGATHER -> set.groupedAllgatherAsync(name, tensors());
            case BROADCAST ->
                List.of(
                        isInPlace()
                                ? set.broadcastInPlaceAsync(name, tensor(), root())
                                : set.broadcastAsync(name, tensor(), root()));
            case ALLTOALL ->
                List.of(
                        op.hasEvenSplits()
                                ? set.alltoallAsync(name, tensor())
                                : set.alltoallAsync(name, tensor(), op.splitsOf(rank)));
            case REDUCESCATTER -> List.of(set.reducescatterAsync(name, tensor(), options()));
            case GROUP_REDUCESCATTER -> set.groupedReducescatterAsync(name, tensors(), options());
            case REDUCE -> List.of(set.reduceAsync(name, tensor(), options(), root()));
            case GATHER -> List.of(set.gatherAsync(name, tensor(), root()));
            case SCATTER -> List.of(set.scatterAsync(name, tensor(), root()));
            case TRANSFER ->
                List.of(sends() ? set.sendAsync(tensor(), peer(), tag()) : set.receiveAsync(tensor(), peer(), tag()));
            case BARRIER -> List.of(set.barrierAsync());
            default -> throw new IllegalStateException(op + " has no handle");
        };
    }

    private boolean sends() {
        return rank == op.members().get(0);
    }

    private int peer() {
        return op.members().get(sends() ? 1 : 0);
    }

    private int tag() {
        return Integer.parseInt(op.name());
    }

    /** Waits in one of the ways of {@link Action}. */
    void finish(int way) {
        if (prepared != null) {
            prepared.allreduce().await();
            tensor().copyFrom(prepared.tensor());
            results.add(tensor());
        }
        for (Handle handle : handles) {
            if (way == Action.POLL) {
                while (!handle.poll()) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
            if (op.kind() == Kind.ALLTOALL && !(op.isFlawedOn(rank) && op.flaw().what() == What.KIND)) {
                exchanged = handle.received();
                results.add(exchanged.output());
            } else {
                results.add(handle.synchronize());
            }
        }
    }

    /** Calls back, as {@link Handle#whenDone} does, when the last of it is done. */
    void whenDone(Runnable action) {
        if (prepared != null) {
            action.run();
            return;
        }
        handles.get(handles.size() - 1).whenDone(action);
    }

    private String words(int of) {
        return "rank " + of + " " + "\u00e4".repeat(op.choice(of, 4, 5_000));
    }

    private JoinDivisor joinDivisor() {
        JoinDivisor agreed = op.joinDivisor();
        return op.isFlawedOn(rank) ? agreed == JoinDivisor.ACTIVE ? JoinDivisor.INITIAL : JoinDivisor.ACTIVE : agreed;
    }

    private List<Integer> members() {
        List<Integer> turned = new ArrayList<>(op.contributors());
        java.util.Collections.reverse(turned);
        return turned;
    }

    /** The set that has been added; null without one. */
    ProcessSet added() {
        return added;
    }

    /** The fault of the call's end; empty if all is right. */
    Optional<String> wrong() {
        return besides().or(this::wrongResult);
    }

    private Optional<String> wrongResult() {
        if (op.kind() == Kind.JOIN) {
            return op.members().contains((Integer) object)
                    ? Optional.empty()
                    : Optional.of("rank " + object + " joined last, expected one of " + op.members());
        }
        if (op.kind() == Kind.BROADCAST_OBJECT) {
            return words(root()).equals(object) ? Optional.empty() : Optional.of("another object: " + object);
        }
        if (op.kind() == Kind.ALLGATHER_OBJECT) {
            return op.members().stream().map(this::words).toList().equals(object)
                    ? Optional.empty()
                    : Optional.of("other objects: " + object);
        }
        if (op.kind() == Kind.ALLTOALL) {
            int[] expected = op.members().stream()
                    .mapToInt(from -> op.splitsOf(from)[op.place(rank)])
                    .toArray();
            if (!Arrays.equals(expected, exchanged.receivedSplits())) {
                return Optional.of("received splits " + Arrays.toString(exchanged.receivedSplits()) + " instead of "
                        + Arrays.toString(expected));
            }
        }
        return IntStream.range(0, results.size())
                .mapToObj(part -> new Reference(op, part)
                        .wrong(rank, results.get(part))
                        .map(what -> op.kind().isGroup() ? "tensor " + part + ": " + what : what))
                .flatMap(Optional::stream)
                .findFirst();
    }

    /** A change of memory that must stay as it was: beside the tensors, and of inputs that no operation was to overwrite. */
    private Optional<String> besides() {
        for (Piece piece : pieces) {
            if (!piece.isMarginUnchanged()) {
                return Optional.of("the array was written to beside the tensor");
            }
            boolean own = results.stream().anyMatch(result -> result == piece.tensor());
            if (!own && !piece.isUnchanged()) {
                return Optional.of("the input was changed");
            }
        }
        return Optional.empty();
    }

    /** A change of memory, none of which may change when a call is refused. */
    Optional<String> wrongAfterRefusal() {
        for (Piece piece : pieces) {
            if (!piece.isMarginUnchanged() || !piece.isUnchanged()) {
                return Optional.of("a tensor was changed although the operation was refused");
            }
        }
        return Optional.empty();
    }

    /** A digest of results, the same for the same ones; NaNs are all alike. */
    long digest() {
        long digest = 0;
        for (Tensor result : results) {
            if (result == null) {
                continue;
            }
            Object array = result.toArray();
            DType type = result.dtype();
            for (int i = 0; i < result.elements(); i++) {
                long bits = Elements.get(type, array, i);
                boolean nan = type.isFloating() && Double.isNaN(Elements.number(type, bits));
                digest = digest * 31 + (nan ? 1 : bits);
            }
        }
        return digest;
    }
}
