package io.hvd.engine.submission;

import io.hvd.engine.message.Reducing;
import io.hvd.tensor.Tensor;
import io.hvd.trace.CallSite;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Operations that are submitted together again and again, like a persistent collective of MPI 4.0. Everything that a
 * call needs is made once. One thread at a time starts them; any number of threads may wait.
 */
public final class PreparedOps implements Awaited {
    private final List<PendingOp> ops = new ArrayList<>();
    /** The number of operations that have not ended since the last start. */
    private final AtomicInteger remaining = new AtomicInteger();

    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private boolean hasBegun;

    public PreparedOps() {}

    public void add(PendingOp op) {
        ops.add(op);
    }

    /** The operations in the order in which they were prepared. */
    public List<PendingOp> ops() {
        return ops;
    }

    /** The operations of all these collectives. */
    public static List<PendingOp> ops(List<PreparedOps> all) {
        if (all.size() == 1) {
            return all.get(0).ops; // no list is made for it
        }
        List<PendingOp> ops = new ArrayList<>();
        all.forEach(prepared -> ops.addAll(prepared.ops));
        return ops;
    }

    /** The names of the operations. */
    public List<String> names() {
        return ops.stream().map(PendingOp::name).toList();
    }

    /**
     * Makes the operations ready to be submitted, when none of them is under way.
     *
     * @param everyLine whether the program's line that starts them is found each time, and not only the first time
     */
    public void begin(boolean everyLine) {
        failure.set(null);
        // This comes before the operations begin: a late failure of the last start then finds them ended, or is
        // counted.
        remaining.set(ops.size());
        String site = everyLine || !hasBegun ? CallSite.current() : null;
        hasBegun = true;
        for (int i = 0; i < ops.size(); i++) {
            ops.get(i).again(site);
        }
    }

    /** @param why the cause of the failure; null if the operation has succeeded */
    void ended(Throwable why) {
        if (why != null) {
            failure.compareAndSet(null, why);
        }
        if (remaining.decrementAndGet() == 0) {
            synchronized (this) {
                notifyAll();
            }
        }
    }

    @Override
    public boolean isDone() {
        return remaining.get() == 0;
    }

    @Override
    public void await() {
        boolean interrupted = false;
        synchronized (this) {
            while (!isDone()) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true; // an operation that is under way cannot be given up
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** @throws CompletionException with the cause of the first failure */
    public void requireSuccess() {
        Throwable why = failure.get();
        if (why != null) {
            throw new CompletionException(why);
        }
    }

    /** The results of the last start, which has succeeded; empty if there was none and the operations make them. */
    public Optional<List<Tensor>> outputs() {
        boolean are = ops.stream().allMatch(op -> op.output() != null);
        return are ? Optional.of(ops.stream().map(PendingOp::output).toList()) : Optional.empty();
    }

    /** Number of bytes of all inputs. */
    public long bytes() {
        return ops.stream().mapToLong(op -> op.input().bytes()).sum();
    }

    /** Number of bytes of all inputs in the types in which they travel. */
    public long wireBytes() {
        return ops.stream()
                .mapToLong(op -> op.request() instanceof Reducing reducing
                        ? reducing.wireBytes()
                        : op.input().bytes())
                .sum();
    }

    /** Number of bytes of the inputs whose operations have succeeded since the last start. */
    public long bytesDone() {
        long bytes = 0;
        for (int i = 0; i < ops.size(); i++) {
            PendingOp op = ops.get(i);
            bytes += op.hasSucceeded() ? op.input().bytes() : 0;
        }
        return bytes;
    }
}
