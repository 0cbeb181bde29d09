package io.hvd.engine.execution;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Outcome;
import io.hvd.engine.submission.PendingOp;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Carries an agreed batch out over the data plane of its process set. */
public final class Execution implements Batch.Carrier {
    private final SetMember set;
    private final List<PendingOp> ops;
    private final Batch.Run batch;
    private final Request first;
    private final DataPlane data;
    private final Consumer<Throwable> broken;

    /**
     * @param ops this rank's operations of the batch, in the batch's order
     * @param broken is given an exception that ends the job before the threads that wait for the operations do
     */
    Execution(SetMember set, List<PendingOp> ops, Batch.Run batch, Consumer<Throwable> broken) {
        this.set = set;
        this.ops = ops;
        this.batch = batch;
        this.first = ops.get(0).request();
        this.data = set.data();
        this.broken = broken;
    }

    /**
     * Why the data plane cannot carry out the batch, if it cannot. The answer depends only on what the ranks have
     * agreed on, so that it is the same on every rank and no rank waits for another.
     */
    Optional<String> refusal() {
        if (batch instanceof Batch.Scatter scatter) {
            return refusal(scatter.given());
        }
        Request agreed =
                batch instanceof Batch.AllreduceOfSome some ? some.asked().get(0) : first;
        return agreed instanceof Request.OfTensor tensor ? refusal(tensor.payload()) : Optional.empty();
    }

    private Optional<String> refusal(Request.Payload payload) {
        Reduction how = batch instanceof Batch.Averaging ? how() : new Reduction(ReduceOp.SUM, payload.dtype(), 1, 1);
        return data.refuses(first.kind(), payload.device(), payload.dtype(), how);
    }

    /** Carries out the batch. The operations have their results as soon as {@link #completion} is done. */
    void run(Batch.Collective collective) {
        guarded(() -> {
            collective.carryOut(this);
            return null;
        });
    }

    /**
     * Carries out a batch of a static plan.
     *
     * @return false if a rank has vetoed it; then no tensor has changed
     */
    public boolean runUnlessVetoed(PlannedBatch planned) {
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

    /** The work that the run has left to a device, or null if there is none. */
    Completion completion() {
        return guarded(data::completion);
    }

    /** Whether the device has done the work that was left to it. */
    boolean isDone(Completion completion) {
        return guarded(completion::isDone);
    }

    /** Runs a part of the batch; an exception in it fails the job and the operations. */
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
     * Completes the operations, the first one last. A program waits in the order of submission, so its thread wakes up
     * once for the whole batch.
     */
    void complete() {
        PendingOp.complete(ops);
    }

    /**
     * A copy, for work that a device has yet to finish: a static plan uses its list of operations again in the next
     * step.
     */
    Execution kept() {
        return new Execution(set, List.copyOf(ops), batch, broken);
    }

    void fail(Throwable cause) {
        ops.forEach(op -> op.fail(cause));
    }

    @Override
    public void allreduce() {
        data.allreduce(inputs(), outputs(), how());
    }

    @Override
    public void allreduceOfSome() {
        if (!ops.get(0).isStandIn()) {
            allreduce();
            return;
        }
        for (PendingOp op : ops) {
            Reducing.Allreduce asked = (Reducing.Allreduce) op.request();
            op.neutral(data.filled(asked.device(), NeutralElement.element(asked), asked.shape()));
        }
        data.allreduceNeutral(inputs(), how());
    }

    @Override
    public void broadcast() {
        data.broadcast(inputs(), outputs(), root());
    }

    @Override
    public void allgather(List<Long> rows) {
        Tensor output = made(totalRows(rows));
        data.allgather(input(), output, elements(rows));
        bring(Outcome.of(output));
    }

    @Override
    public void reduceScatter() {
        List<Long> rows = evenly(shape().dim(0));
        Tensor output = made(rows.get(set.self()));
        data.reduceScatter(input(), output, elements(rows), how());
        bring(Outcome.of(output));
    }

    @Override
    public void reduce() {
        Tensor output = isRoot() ? output(ops.get(0)) : null;
        data.reduce(input(), output, how(), root());
        bring(Outcome.of(output));
    }

    @Override
    public void gather(List<Long> rows) {
        Tensor output = isRoot() ? made(totalRows(rows)) : null;
        data.gather(input(), output, elements(rows), root());
        bring(Outcome.of(output));
    }

    @Override
    public void alltoall(List<List<Long>> rows) {
        List<Long> sent = rows.get(set.self());
        List<Long> received =
                rows.stream().map(ofSender -> ofSender.get(set.self())).toList();
        Tensor output = made(totalRows(received));
        long longest = rows.stream()
                .flatMapToLong(ofSender -> Arrays.stream(elements(ofSender)))
                .max()
                .orElse(0);
        data.alltoall(input(), output, elements(sent), elements(received), longest);
        bring(new Outcome(output, received, 0));
    }

    @Override
    public void scatter(Request.Payload given) {
        List<Long> rows = evenly(given.shape().dim(0));
        Tensor output = data.output(given.device(), given.dtype(), given.shape().withFirst(rows.get(set.self())));
        data.scatter(input(), output, elements(rows, given.shape()), root());
        bring(Outcome.of(output));
    }

    @Override
    public void transfer() {
        if (first instanceof Moving.Send half) {
            data.send(input(), half.peer());
            bring(Outcome.NOTHING);
        } else if (first instanceof Moving.Receive half) {
            data.receive(input(), half.peer());
            bring(Outcome.of(input()));
        }
    }

    @Override
    public void joined(int last) {
        bring(Outcome.of(last));
    }

    /** Sets the result of the batch's only operation. */
    private void bring(Outcome outcome) {
        ops.get(0).bring(outcome);
    }

    /** Number of rows for each rank; where they do not divide evenly, the first ranks get one more. */
    private List<Long> evenly(long rows) {
        List<Long> shares = new ArrayList<>();
        for (int rank = 0; rank < set.size(); rank++) {
            shares.add(rows / set.size() + (rank < rows % set.size() ? 1 : 0));
        }
        return shares;
    }

    private boolean isRoot() {
        return set.self() == root();
    }

    private int root() {
        return ((Request.Rooted) first).root();
    }

    private Tensor input() {
        return ops.get(0).input();
    }

    private Shape shape() {
        return ((Request.OfTensor) first).shape();
    }

    /** The program's tensor, if it has brought one of this shape; else a new one. */
    private Tensor made(long rows) {
        Shape shape = shape().withFirst(rows);
        Tensor brought = ops.get(0).output();
        return brought != null && brought.shape().equals(shape) ? brought : made((Request.OfTensor) first, shape);
    }

    private Tensor made(Request.OfTensor asked, Shape shape) {
        long begun = set.log().begin();
        Tensor output = data.output(asked.device(), asked.dtype(), shape);
        set.log().end("ALLOCATE_OUTPUT", begun);
        return output;
    }

    private static long totalRows(List<Long> rows) {
        return rows.stream().mapToLong(Long::longValue).sum();
    }

    private long[] elements(List<Long> rows) {
        return elements(rows, shape());
    }

    private static long[] elements(List<Long> rows, Shape shape) {
        long row = shape.rowElements();
        return rows.stream().mapToLong(count -> count * row).toArray();
    }

    private Reduction how() {
        Reduction asked = ((Reducing) first).how();
        return onTheWire(asked, asked.op() == ReduceOp.AVERAGE ? ((Batch.Averaging) batch).divisor() : 1);
    }

    /**
     * The reduction as the data plane carries it out. Averaging becomes a sum on the wire and a divisor for the result;
     * this happens here and nowhere else.
     */
    public static Reduction onTheWire(Reduction asked, int divisor) {
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

    /** The tensor for the result, which is allocated here if the program has brought none. */
    private Tensor output(PendingOp op) {
        if (op.output() == null) {
            Request.OfTensor asked = (Request.OfTensor) op.request();
            op.provide(made(asked, asked.shape()));
        }
        return op.output();
    }
}
