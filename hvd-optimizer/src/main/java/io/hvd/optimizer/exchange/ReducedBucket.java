package io.hvd.optimizer.exchange;

import io.hvd.Handle;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.reduce.GradientBucket;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** A bucket that a {@code GradientReducer} reduces. */
final class ReducedBucket implements BucketReduction, GradientBucket.InFlight {
    private static final HvdLogger LOG = HvdLogger.of(ReducedBucket.class);

    private final ReducedGradients gradients;
    private final String name;
    private final List<String> names;
    private final List<Tensor> tensors;
    private final ReducerContract contract;
    private final long bytes;
    private final int divisor;
    /** Divides the gradients. */
    private final HostGradients arithmetic;
    /** The factor of the losses of this step; the reducer gets gradients without it. */
    private double scale;

    /** Collectives of this step that were not seen to have ended; guarded by this, as the fields below are. */
    private final Queue<Handle> started = new ArrayDeque<>();

    private long sent;
    private CompletableFuture<GradientBucket> outcome = CompletableFuture.completedFuture(null);
    /** The work that was given up because it took too long, and may still write into gradients; null if there is none. */
    private CompletableFuture<GradientBucket> late;

    /** @param divisor of this rank's gradients, before they are reduced */
    ReducedBucket(ReducedGradients gradients, String name, List<Parameter> members, int divisor) {
        this.gradients = gradients;
        this.name = name;
        this.names = members.stream().map(Parameter::name).toList();
        this.tensors = members.stream().map(Parameter::gradient).toList();
        this.contract = new ReducerContract(gradients.reducer(), gradients.set(), name, names, tensors);
        this.divisor = divisor;
        this.arithmetic = new HostGradients(members);
        this.bytes = tensors.stream().mapToLong(Tensor::bytes).sum();
    }

    @Override
    public void start(long step) {
        CompletableFuture<GradientBucket> fresh = new CompletableFuture<>();
        synchronized (this) {
            started.clear();
            scale = gradients.lossScale();
            sent = 0;
            outcome = fresh;
            if (late != null) {
                fresh.completeExceptionally(refusal(late.isDone()));
                late = late.isDone() ? null : late;
                return;
            }
        }
        gradients.thread().execute(() -> reduce(step, fresh));
    }

    /** Also the step after the end of late work is refused, because its backward may have run beside that work. */
    private HvdException refusal(boolean hasEnded) {
        String now = hasEnded
                ? "and has ended since: this step's gradients may be mixed with those of the earlier one, the next step goes on"
                : "and is still at work: what it writes could mix into the gradients of this step";
        return contract.broken("has not completed its future of an earlier step in time, " + now, null);
    }

    private synchronized double scale() {
        return scale;
    }

    private synchronized boolean isLate(CompletableFuture<GradientBucket> end) {
        return end == late;
    }

    /** Whatever is thrown, also an error, is for the thread that waits. */
    private void reduce(long step, CompletableFuture<GradientBucket> end) {
        try {
            if (isLate(end)) {
                throw contract.broken("has not begun in time", null);
            }
            double whole = divisor * scale();
            if (whole != 1) {
                arithmetic.multiplyGradients(1 / whole);
            }
            GradientBucket bucket = new GradientBucket(
                    name, names, tensors, gradients.agreed(step, this), gradients.set(), gradients.thread(), this);
            CompletableFuture<GradientBucket> begun = gradients.reducer().reduce(bucket);
            if (begun == null) {
                throw contract.broken("has returned null, expected a future of the bucket", null);
            }
            begun.whenComplete((reduced, why) -> end(end, reduced, why));
        } catch (Throwable e) {
            end(end, null, e);
        }
    }

    private void end(CompletableFuture<GradientBucket> end, GradientBucket reduced, Throwable why) {
        if (why == null) {
            end.complete(reduced);
        } else {
            end.completeExceptionally(why);
        }
        synchronized (this) {
            notifyAll();
        }
    }

    @Override
    public synchronized void started(Handle handle) {
        started.add(handle);
        notifyAll();
    }

    @Override
    public synchronized void sent(long more) {
        sent += more;
    }

    /**
     * Waits in the collectives themselves as long as there are any: engine and hang report then know of it, and the thread may
     * carry them out. Without any, the reducer has the time that collectives have.
     */
    @Override
    public void await() {
        CompletableFuture<GradientBucket> end = outcome();
        while (!end.isDone()) {
            Handle next = nextInFlight(end);
            if (next != null) {
                awaitQuietly(next);
            }
        }
        adopt(result(end));
    }

    private synchronized CompletableFuture<GradientBucket> outcome() {
        return outcome;
    }

    private static void awaitQuietly(Handle handle) {
        try {
            handle.synchronize();
        } catch (RuntimeException e) {
            LOG.debug("the reducer is told of the failure of {}", handle.name(), e);
        }
    }

    /** Waits for a collective to wait for; null if the reducer has ended. */
    private synchronized Handle nextInFlight(CompletableFuture<GradientBucket> end) {
        long begin = System.nanoTime();
        boolean interrupted = false;
        boolean warned = false;
        while (!end.isDone()) {
            Handle next = started.poll();
            if (next != null && !next.isDone()) {
                restore(interrupted);
                return next;
            }
            if (next == null) {
                Duration waited = Duration.ofNanos(System.nanoTime() - begin);
                requireInTime(end, waited);
                warned = warned || warn(waited);
                interrupted |= waitForNews();
            }
        }
        restore(interrupted);
        return null;
    }

    private static void restore(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void requireInTime(CompletableFuture<GradientBucket> end, Duration waited) {
        Duration limit = gradients.limit();
        if (!limit.isZero() && waited.compareTo(limit) >= 0) {
            late = end;
            throw contract.broken(
                    "has not completed its future within " + limit.toMillis() / 1e3
                            + " s, and no collective of it is in flight",
                    null);
        }
    }

    private boolean warn(Duration waited) {
        Duration limit = gradients.warning();
        boolean late = !limit.isZero() && waited.compareTo(limit) >= 0;
        if (late) {
            LOG.warn(
                    "{} has not completed its future for {} s, and no collective of it is in flight",
                    contract.inWords(),
                    limit.toSeconds());
        }
        return late;
    }

    /** @return whether the thread was interrupted; what is under way cannot be given up */
    private boolean waitForNews() {
        try {
            wait(100);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    private GradientBucket result(CompletableFuture<GradientBucket> end) {
        try {
            return end.join();
        } catch (CancellationException e) {
            throw contract.broken("has cancelled its future", e);
        } catch (CompletionException e) {
            Throwable why = e.getCause();
            if (why instanceof HvdException known) {
                throw known.seenHere();
            }
            throw contract.broken("has thrown " + why, why);
        }
    }

    private void adopt(GradientBucket reduced) {
        contract.require(reduced);
        for (int i = 0; i < tensors.size(); i++) {
            if (reduced.tensors().get(i) != tensors.get(i)) {
                tensors.get(i).copyFrom(reduced.tensors().get(i));
            }
        }
        if (scale() != 1) {
            arithmetic.multiplyGradients(scale()); // by which the scaler divides later
        }
    }

    @Override
    public long bytes() {
        return bytes;
    }

    @Override
    public long bytesDone() {
        CompletableFuture<GradientBucket> end = outcome();
        return end.isDone() && !end.isCompletedExceptionally() ? bytes : 0;
    }

    @Override
    public synchronized long bytesSent() {
        return sent;
    }

    @Override
    public void close() {}
}
