package io.hvd.engine;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Reduction;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One communication thread per rank that turns submitted tensors into collective calls.
 *
 * <p>The way is straight: drain what this rank asked for, announce it to rank 0, receive rank 0's
 * plan, carry it out. Only this thread talks to the {@link Backend}. Negotiation goes by name, so the
 * ranks may submit in any order.
 */
public final class Engine {
    private final Backend backend;
    private final int rank;
    private final int size;
    private final TensorQueue queue;
    /** Rank 0's; null elsewhere. */
    private final Negotiation negotiation;

    private final Consumer<String> onFailure;
    private final Queue<Plan> plans = new ArrayDeque<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final ControlChannel.Inbox inbox = new EngineInbox();
    private volatile boolean closing;
    private volatile String failure = "";
    private boolean closingAnnounced;
    private boolean failureAnnounced;

    /**
     * @param onFailure told once, on the communication thread, when the job cannot go on
     */
    public Engine(Backend backend, long fusionThresholdBytes, long cycleNanos, Consumer<String> onFailure) {
        this.backend = backend;
        this.rank = backend.topology().rank();
        this.size = backend.topology().size();
        this.queue = new TensorQueue(Math.max(1, fusionThresholdBytes), cycleNanos);
        this.negotiation = rank == 0 ? new Negotiation(size, fusionThresholdBytes) : null;
        this.onFailure = onFailure;
    }

    /**
     * Queues an operation; the result completes on the communication thread.
     *
     * @param output where the result goes, or null for an allgather
     * @param hurry true when the caller is going to wait at once
     */
    public CompletableFuture<Tensor> submit(Request request, Tensor input, Tensor output, boolean hurry) {
        PendingOp op = new PendingOp(request, input, output);
        if (queue.submit(List.of(op), hurry)) {
            backend.control().wakeUp();
        }
        return op.result();
    }

    /** Somebody waits for what was submitted: it is announced at once. */
    public void hurry() {
        if (queue.hurry()) {
            backend.control().wakeUp();
        }
    }

    /** Leaves together with the other ranks; returns when all of them have closed or the job has failed. */
    public void close() {
        closing = true;
        backend.control().wakeUp();
        ended.join();
    }

    /**
     * Tells every rank that this one cannot go on, so that nobody waits for it.
     *
     * @return true if all ranks were told within the limit
     */
    public boolean fail(String why, long limitMillis) {
        failure = why;
        backend.control().wakeUp();
        try {
            ended.get(limitMillis, TimeUnit.MILLISECONDS);
            return true;
        } catch (java.util.concurrent.TimeoutException | java.util.concurrent.ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** The communication thread's life; returns when the context is closed or the job has failed. */
    public void run() {
        String why = "this rank's context is closed";
        boolean orderly = false;
        try {
            Plan last = cycleUntilTheEnd();
            orderly = last.stop();
            why = orderly ? why : last.failure();
        } catch (Throwable e) {
            why = "rank " + rank + " (" + backend.topology().host() + "): the communication thread failed: " + e;
            onFailure.accept(why);
        } finally {
            queue.close(new ShutdownException(why));
            try {
                if (orderly) {
                    backend.close();
                }
            } finally {
                ended.complete(null);
            }
        }
    }

    private Plan cycleUntilTheEnd() {
        while (true) {
            long wait = queue.nanosUntilDue();
            if (wait == 0 || closing != closingAnnounced || failureIsNews()) {
                announce();
                wait = queue.nanosUntilDue();
            }
            publish();
            Plan plan = mayTurnToTheData() ? plans.poll() : null;
            if (plan == null) {
                backend.control().receive(wait, inbox);
                continue;
            }
            plan.batches().forEach(this::execute);
            if (!plan.failure().isEmpty()) {
                onFailure.accept(plan.failure());
            }
            if (plan.stop() || !plan.failure().isEmpty()) {
                return plan;
            }
        }
    }

    /** Rank 0 sees its plan off first: inside a collective it could not, and the others would never come. */
    private boolean mayTurnToTheData() {
        return negotiation == null || backend.control().isFlushed();
    }

    private boolean failureIsNews() {
        return !failure.isEmpty() && !failureAnnounced;
    }

    private void announce() {
        closingAnnounced = closing;
        failureAnnounced = !failure.isEmpty();
        Announcement announcement = new Announcement(queue.drainFresh(), closingAnnounced, failure);
        if (negotiation != null) {
            negotiation.announce(rank, announcement);
        } else {
            backend.control().send(0, PlanCodec.encode(announcement));
        }
    }

    /** Rank 0 tells everybody what has been decided. */
    private void publish() {
        if (negotiation == null) {
            return;
        }
        Plan plan = negotiation.next();
        if (plan.isEmpty()) {
            return;
        }
        plans.add(plan);
        if (size > 1) {
            ByteBuffer message = PlanCodec.encode(plan);
            for (int to = 1; to < size; to++) {
                backend.control().send(to, message.duplicate());
            }
        }
    }

    private void execute(Plan.Batch batch) {
        if (batch.verdict() != Plan.Verdict.RUN) {
            refuse(batch);
            return;
        }
        List<PendingOp> ops = batch.names().stream().map(queue::take).toList();
        Request first = ops.get(0).request();
        Optional<String> refusal = refusal(first);
        if (refusal.isPresent()) {
            HvdException unsupported = new HvdException(
                    ErrorId.UNSUPPORTED,
                    first.kind() + " of " + batch.names() + ": the back end " + backend.description()
                            + " cannot do it: " + refusal.get());
            ops.forEach(op -> op.fail(unsupported));
            return;
        }
        try {
            carryOut(ops, batch);
        } catch (ShutdownException consequence) {
            ops.forEach(op -> op.fail(consequence));
            throw consequence;
        } catch (Throwable cause) {
            HvdException error = new HvdException(
                    ErrorId.BACK_END,
                    ops.get(0).request().kind() + " of " + batch.names() + " failed on rank " + rank + ": " + cause,
                    cause);
            ops.forEach(op -> op.fail(error));
            throw error;
        }
    }

    /** Asked of what the ranks have agreed on, so every rank gets the same answer and nobody waits for another. */
    private Optional<String> refusal(Request agreed) {
        Collectives data = backend.collectives();
        return switch (agreed.kind()) {
            case ALLREDUCE -> data.refusesAllreduce(agreed.device(), agreed.dtype(), reduction(agreed));
            case ALLGATHER -> data.refusesAllgather(agreed.device());
            case BROADCAST -> data.refusesBroadcast(agreed.device());
            case BARRIER -> Optional.empty();
        };
    }

    private void refuse(Plan.Batch batch) {
        HvdException refusal = batch.verdict() == Plan.Verdict.MISMATCH
                ? new RankMismatchException(batch.error())
                : new ShutdownException(batch.error());
        batch.names().forEach(name -> queue.takeIfPending(name).ifPresent(op -> op.fail(refusal)));
    }

    private void carryOut(List<PendingOp> ops, Plan.Batch batch) {
        Request first = ops.get(0).request();
        switch (first.kind()) {
            case ALLREDUCE -> {
                backend.collectives().allreduce(inputs(ops), outputs(ops), reduction(first));
                ops.forEach(op -> op.complete(op.output()));
            }
            case BROADCAST -> {
                backend.collectives().broadcast(inputs(ops), outputs(ops), first.root());
                ops.forEach(op -> op.complete(op.output()));
            }
            case ALLGATHER -> ops.get(0).complete(gather(ops.get(0), batch.firstDims()));
            case BARRIER -> ops.get(0).complete(null);
        }
    }

    private Tensor gather(PendingOp op, List<Long> firstDims) {
        Request request = op.request();
        long rows = firstDims.stream().mapToLong(Long::longValue).sum();
        long rowElements = request.shape().rowElements();
        Tensor output = Tensor.zeros(request.dtype(), request.shape().withFirst(rows));
        long[] elements = firstDims.stream().mapToLong(dim -> dim * rowElements).toArray();
        backend.collectives().allgather(op.input(), output, elements);
        return output;
    }

    /** Averaging is decided here and nowhere else: a sum on the wire, divided when it is unpacked. */
    private Reduction reduction(Request request) {
        double divisor = request.op() == ReduceOp.AVERAGE ? size : 1;
        return new Reduction(
                request.op().onTheWire(), request.wire(), request.prescale(), request.postscale() / divisor);
    }

    private static List<Tensor> inputs(List<PendingOp> ops) {
        return ops.stream().map(PendingOp::input).toList();
    }

    private static List<Tensor> outputs(List<PendingOp> ops) {
        return ops.stream().map(PendingOp::output).toList();
    }

    /** Rank 0 hears announcements, the others hear plans. */
    private final class EngineInbox implements ControlChannel.Inbox {
        @Override
        public void message(int fromRank, ByteBuffer message) {
            if (negotiation != null) {
                negotiation.announce(fromRank, PlanCodec.decodeAnnouncement(message));
            } else {
                plans.add(PlanCodec.decodePlan(message));
            }
        }

        @Override
        public void lost(int lostRank, String why) {
            String named = why + " (host " + backend.topology().hosts().get(lostRank) + ")";
            if (negotiation != null) {
                negotiation.lose(lostRank, named);
            } else {
                plans.add(new Plan(List.of(), false, "rank " + lostRank + " is gone: " + named));
            }
        }
    }
}
