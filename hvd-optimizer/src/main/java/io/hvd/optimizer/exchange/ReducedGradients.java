package io.hvd.optimizer.exchange;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.reduce.GradientBucket;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;

/**
 * Gradients that a {@link GradientReducer} reduces, on a thread of their own. It must not be backward's, which would wait, nor hvd's
 * communication thread; and since nothing on it waits for the other ranks, these may have their buckets in another order.
 */
public final class ReducedGradients implements GradientReduction {
    private static final int IDLE_SECONDS = 5;

    private final ProcessSet set;
    private final GradientReducer reducer;
    private final LocalReduction localReduction;
    private final String scope;
    private final Executor thread;
    private final Duration warning;
    private final Duration limit;

    /** The difference that this rank has to add to its number of steps, which is smaller than other ranks' after it has joined. */
    private long missedSteps;

    private int joins;
    private volatile DoubleSupplier lossScale = () -> 1;

    /** @param scope what the names of its tensors begin with */
    public ReducedGradients(ProcessSet set, GradientReducer reducer, LocalReduction localReduction, String scope) {
        this(
                set,
                reducer,
                localReduction,
                scope,
                set.forOptimizers().stallWarning(),
                set.forOptimizers().stallShutdown());
    }

    /**
     * @param warning how long a reducer may take before it is named, and {@code limit} before it has failed; zero for ever
     */
    public ReducedGradients(
            ProcessSet set,
            GradientReducer reducer,
            LocalReduction localReduction,
            String scope,
            Duration warning,
            Duration limit) {
        this.set = set;
        this.reducer = reducer;
        this.localReduction = localReduction;
        this.scope = scope;
        this.warning = warning;
        this.limit = limit;
        this.joins = set.forOptimizers().joins();
        this.thread = new ThreadPoolExecutor(
                0, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::newThread);
    }

    private Thread newThread(Runnable work) {
        Thread thread = new Thread(work, "hvd-reducer-" + set.ranks().get(set.rank()));
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public ProcessSet set() {
        return set;
    }

    @Override
    public String scope() {
        return scope;
    }

    @Override
    public LocalReduction localReduction() {
        return localReduction;
    }

    @Override
    public boolean isSum() {
        return false;
    }

    @Override
    public BucketReduction prepare(int bucket, List<Parameter> members, int passes) {
        return new ReducedBucket(
                this, scope + "bucket." + bucket, members, localReduction == LocalReduction.MEAN ? passes : 1);
    }

    @Override
    public void lossScale(DoubleSupplier scale) {
        lossScale = scale;
    }

    double lossScale() {
        return lossScale.getAsDouble();
    }

    @Override
    public void stateLoaded() {
        reducer.stateLoaded();
    }

    GradientReducer reducer() {
        return reducer;
    }

    Duration warning() {
        return warning;
    }

    Duration limit() {
        return limit;
    }

    /** Runs a reducer's work, on a thread on which nothing is ordered by the program. */
    Executor thread() {
        return work -> thread.execute(() -> set.forOptimizers().inAnyOrder(work));
    }

    /**
     * The number of a step, the same on all ranks. Called on the thread, where every rank comes here first after a join; it alone
     * waits then.
     *
     * @param inFlight gets what it waits for
     */
    long agreed(long step, GradientBucket.InFlight inFlight) {
        if (set.forOptimizers().joins() != joins) {
            joins = set.forOptimizers().joins();
            long[] most = {step + missedSteps};
            Handle ranks = set.allreduceInPlaceAsync(
                    scope + "reducer.steps", Tensor.of(most), AllreduceOptions.of(ReduceOp.MAX));
            inFlight.started(ranks);
            ranks.synchronize();
            missedSteps = most[0] - step;
        }
        return step + missedSteps;
    }
}
