package io.hvd.engine;

import io.hvd.engine.Plan.Batch;
import io.hvd.engine.StaticPlan.PlannedBatch;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Carries an agreed batch out over the data plane of its process set. */
final class Execution {
    private final SetMember set;
    private final List<PendingOp> ops;
    private final Batch batch;
    private final Request first;
    private final DataPlane data;
    private final Consumer<Throwable> broken;

    /**
     * @param ops those of the batch, in its order, on this rank
     * @param broken told of what ends the job before those who wait for the operations are
     */
    Execution(SetMember set, List<PendingOp> ops, Batch batch, Consumer<Throwable> broken) {
        this.set = set;
        this.ops = ops;
        this.batch = batch;
        this.first = ops.get(0).request();
        this.data = set.data();
        this.broken = broken;
    }

    /** Asked of what the ranks have agreed on, so every rank gets the same answer and nobody waits for another. */
    Optional<String> refusal() {
        if (first.kind() == OpKind.BARRIER || first.kind() == OpKind.JOIN) {
            return Optional.empty();
        }
        Request known = batch.templates().isEmpty() ? first : batch.templates().get(0);
        return data.refuses(known.kind(), known.device(), known.dtype(), how());
    }

    /** The operations have their results as soon as {@link #completion} is done. */
    void run() {
        guarded(() -> {
            switch (first.kind()) {
                case ALLREDUCE -> data.allreduce(inputs(), outputs(), how());
                case BROADCAST -> data.broadcast(inputs(), outputs(), first.root());
                case BARRIER -> {
                    // The ranks have met in the negotiation.
                }
                case JOIN ->
                    ops.get(0).bring(Outcome.of(Math.toIntExact(batch.sizes().get(0))));
                default -> ops.get(0).bring(runAlone(ops.get(0)));
            }
            return null;
        });
    }

    /**
     * A batch of a static plan.
     *
     * @return false if a rank has vetoed it, and then nothing has happened
     */
    boolean runUnlessVetoed(PlannedBatch planned) {
        return guarded(() -> {
            makeOutputs();
            return data.allreduceUnlessVetoed(planned.inputs(), planned.outputs(), how());
        });
    }

    private void makeOutputs() {
        for (int i = 0; i < ops.size(); i++) {
            output(ops.get(i));
        }
    }

    /** What the run has left to a device, or null. */
    Completion completion() {
        return guarded(data::completion);
    }

    /** Whether a device has done what was left to it. */
    boolean isDone(Completion completion) {
        return guarded(completion::isDone);
    }

    /** An exception out of the data plane fails the operations, and then the job. */
    <T> T guarded(Supplier<T> body) {
        try {
            return body.get();
        } catch (ShutdownException consequence) {
            broken.accept(consequence);
            String words = first.kind() + " of " + batch.names() + " can never be complete: " + consequence.words();
            fail(new ShutdownException(words, consequence));
            throw consequence;
        } catch (Throwable cause) {
            HvdException error = new HvdException(
                    ErrorId.BACK_END,
                    first.kind() + " of " + batch.names() + " failed on rank " + set.rank() + ": " + cause,
                    cause);
            broken.accept(error);
            fail(error);
            throw error;
        }
    }

    /**
     * Tells those who wait: of the first operation last. A program waits in the order in which it has submitted, and so
     * wakes up once for all of a batch.
     */
    void complete() {
        PendingOp.complete(ops);
    }

    /** A copy, for work that a device has yet to finish: the plan uses the list of operations again in its next step. */
    Execution kept() {
        return new Execution(set, List.copyOf(ops), batch, broken);
    }

    void fail(Throwable cause) {
        ops.forEach(op -> op.fail(cause));
    }

    private Outcome runAlone(PendingOp op) {
        return switch (first.kind()) {
            case ALLGATHER -> {
                Tensor output = made(totalRows(batch.sizes()));
                data.allgather(op.input(), output, elements(batch.sizes()));
                yield Outcome.of(output);
            }
            case ALLTOALL -> alltoall(op);
            case REDUCESCATTER -> {
                List<Long> rows = evenly(first.shape().dim(0));
                Tensor output = made(rows.get(set.self()));
                data.reduceScatter(op.input(), output, elements(rows), how());
                yield Outcome.of(output);
            }
            case REDUCE -> {
                Tensor output = isRoot() ? output(op) : null;
                data.reduce(op.input(), output, how(), first.root());
                yield Outcome.of(output);
            }
            case GATHER -> {
                Tensor output = isRoot() ? made(totalRows(batch.sizes())) : null;
                data.gather(op.input(), output, elements(batch.sizes()), first.root());
                yield Outcome.of(output);
            }
            case SCATTER -> scatter(op);
            case SEND -> {
                data.send(op.input(), first.root());
                yield Outcome.NOTHING;
            }
            case RECEIVE -> {
                data.receive(op.input(), first.root());
                yield Outcome.of(op.input());
            }
            default -> throw new IllegalStateException(first.kind() + " moves no data");
        };
    }

    private Outcome alltoall(PendingOp op) {
        int size = set.size();
        List<Long> sent = first.splits();
        List<Long> received = new ArrayList<>();
        for (int from = 0; from < size; from++) {
            received.add(batch.sizes().get(from * size + set.self()));
        }
        Tensor output = made(totalRows(received));
        long longest = Arrays.stream(elements(batch.sizes())).max().orElse(0);
        data.alltoall(op.input(), output, elements(sent), elements(received), longest);
        return new Outcome(output, received, 0);
    }

    private Outcome scatter(PendingOp op) {
        Request given = batch.templates().get(0);
        List<Long> rows = evenly(given.shape().dim(0));
        Tensor output = data.output(given.device(), given.dtype(), given.shape().withFirst(rows.get(set.self())));
        long row = given.shape().rowElements();
        data.scatter(
                op.input(),
                output,
                rows.stream().mapToLong(count -> count * row).toArray(),
                first.root());
        return Outcome.of(output);
    }

    /** Rows for each rank; the first ranks get one more where they do not go up. */
    private List<Long> evenly(long rows) {
        List<Long> shares = new ArrayList<>();
        for (int rank = 0; rank < set.size(); rank++) {
            shares.add(rows / set.size() + (rank < rows % set.size() ? 1 : 0));
        }
        return shares;
    }

    private boolean isRoot() {
        return set.self() == first.root();
    }

    private Tensor made(long rows) {
        return made(first.shape().withFirst(rows));
    }

    private Tensor made(Shape shape) {
        long begun = set.log().begin();
        Tensor output = data.output(first.device(), first.dtype(), shape);
        set.log().end("ALLOCATE_OUTPUT", begun);
        return output;
    }

    private static long totalRows(List<Long> rows) {
        return rows.stream().mapToLong(Long::longValue).sum();
    }

    private long[] elements(List<Long> rows) {
        long row = first.shape().rowElements();
        return rows.stream().mapToLong(count -> count * row).toArray();
    }

    private Reduction how() {
        return onTheWire(first, batch.divisorFor(first));
    }

    /** Averaging is decided here and nowhere else: a sum on the wire, and a divisor for what comes out. */
    static Reduction onTheWire(Request request, int divisor) {
        Reduction asked = request.how();
        return new Reduction(asked.op().onTheWire(), asked.wire(), asked.prescale(), asked.postscale(), divisor);
    }

    private List<Tensor> inputs() {
        List<Tensor> inputs = new ArrayList<>(ops.size());
        for (PendingOp op : ops) {
            inputs.add(op.input());
        }
        return inputs;
    }

    private List<Tensor> outputs() {
        List<Tensor> outputs = new ArrayList<>(ops.size());
        for (PendingOp op : ops) {
            outputs.add(output(op));
        }
        return outputs;
    }

    /** Where the result goes; made here, if nobody has brought it. */
    private Tensor output(PendingOp op) {
        if (op.output() == null) {
            op.provide(made(op.request().shape()));
        }
        return op.output();
    }
}
