package io.hvd.data;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * Makes batches of this rank's samples, ahead of the training loop if it has workers.
 *
 * <pre>{@code
 * try (var loader = DataLoader.builder(train, sampler, Batch::of).batchSize(64).workers(2).build()) {
 *     for (int epoch = 0; epoch < epochs; epoch++) {
 *         for (Batch batch : loader) {
 *             step(batch);
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p><b>Order.</b> Batches come in the sampler's order whatever the number of workers. Each {@link #iterator()} begins
 * an epoch of the sampler, and ends the epoch before it if that was left half way: a loader serves one loop at a time.
 *
 * <p><b>Threads.</b> One worker reads and collates a whole batch, so {@link Dataset#get} and {@code collate} run on
 * several workers at once; without workers they run on the iterating thread, inside {@code next()}. Workers do not see
 * what is bound to the iterating thread, such as a pointer scope of JavaCPP. {@link #iterator()} and iteration belong
 * to one thread; {@link #close()} may come from any.
 *
 * <p><b>Memory.</b> {@code collate} may build native tensors. A batch that {@code next()} has returned is the caller's,
 * to close or to keep; no scope of a worker ends its life. A batch that the program has not taken, because the epoch
 * ended early, is closed by the loader if it is {@link AutoCloseable}. At most {@code prefetch} finished or
 * half-finished batches exist besides those the caller holds, and for a moment after an early end those that the
 * workers were busy with.
 *
 * <p><b>Failures.</b> What the data set or {@code collate} throws reaches the caller as {@link DataLoaderException} at
 * the failing batch, after all batches before it, and ends the epoch. The loader stays usable.
 *
 * @param <S> a sample
 * @param <B> a batch
 */
public final class DataLoader<S, B> implements EpochBatches<B>, AutoCloseable {

    private final Dataset<S> dataset;
    private final Sampler sampler;
    private final Function<? super List<S>, ? extends B> collate;
    private final int batchSize;
    private final boolean dropLast;
    private final int ahead;
    private final LoaderThreads threads;
    /** Null if the ranks do not compare their steps. */
    private final EvenSteps even;

    private final Handover handover;
    private Epoch<B> current;
    private boolean closed;

    private DataLoader(Builder<S, B> builder) {
        dataset = builder.dataset;
        sampler = builder.sampler;
        handover = new Handover(() -> sampler.recordBatch(builder.batchSize));
        collate = builder.collate;
        batchSize = builder.batchSize;
        dropLast = builder.dropLast;
        ahead = builder.batchesAhead();
        threads = builder.workers == 0 ? null : new LoaderThreads(builder.workers);
        even = builder.lengths == null ? null : new EvenSteps(builder.lengths, builder.batchSize, builder.dropLast);
    }

    /**
     * A loader needs these three.
     *
     * @param collate makes a batch of samples; the list is its own to keep. {@link Function#identity()} gives the lists
     *     themselves
     */
    public static <S, B> Builder<S, B> builder(
            Dataset<S> dataset, Sampler sampler, Function<? super List<S>, ? extends B> collate) {
        return new Builder<>(dataset, sampler, collate);
    }

    /**
     * Batches per epoch on this rank, or in the rest of one that is resumed; with an {@link EvalSampler} it may differ between ranks. What {@link
     * Builder#evenSteps} makes of it is known in the epoch: {@link Epoch#batches()}.
     */
    @Override
    public int batches() {
        return count(sampler.length());
    }

    /**
     * Begins the sampler's next epoch, and with workers starts to read at once. With {@link Builder#evenSteps} it is a
     * collective, which may refuse the ranks' numbers of batches.
     *
     * @throws IllegalStateException if the loader is closed
     */
    @Override
    public Epoch<B> iterator() {
        endCurrent("its loader began another one; nested loops need a loader each");
        requireOpen();
        EvenSteps.Share mine = ownShare();
        return begin(even == null ? mine : even.agreed(mine, sampler));
    }

    /**
     * Ends the epoch under way and waits for the workers to end, so that what they read from can be closed next. A
     * worker gets a second to finish its sample, is interrupted then, and is waited for ten seconds more. If this
     * thread is interrupted, the workers are too, and are not waited for. Without workers, a sample that another thread
     * is reading at that moment is not waited for.
     */
    @Override
    public void close() {
        refuseNewEpochs();
        endCurrent("its loader was closed");
        if (threads != null) {
            threads.close();
        }
    }

    /** Not known where {@link Builder#evenSteps} asks for it itself. */
    @Override
    public int replicas() {
        return even == null ? sampler.replicas() : 0;
    }

    @Override
    public long waitNanos() {
        return handover.waitedNanos();
    }

    private synchronized void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the loader is closed");
        }
    }

    private synchronized Epoch<B> begin(EvenSteps.Share share) {
        requireOpen();
        Executor executor = threads == null ? Runnable::run : threads;
        BatchPlan<S, B> plan = new BatchPlan<>(dataset, share.order(), batchSize, collate);
        current = new Epoch<>(plan, share.batches(), executor, ahead, handover, this::progress);
        return current;
    }

    private double progress(int taken, int of) {
        return sampler.progress(batchSize, taken, of);
    }

    private EvenSteps.Share ownShare() {
        if (even != null) {
            even.lengths().requireFor(sampler.replicas());
        }
        int[] order = sampler.beginEpoch();
        if (order.length != sampler.length()) {
            throw new IllegalStateException(
                    "the sampler dealt " + order.length + " samples instead of " + sampler.length());
        }
        return new EvenSteps.Share(order, count(order.length));
    }

    private synchronized void refuseNewEpochs() {
        closed = true;
    }

    /** Runs outside the lock, because it closes batches that the program has not taken. */
    private void endCurrent(String reason) {
        Epoch<B> ending = current();
        if (ending != null) {
            ending.end(reason);
        }
    }

    private synchronized Epoch<B> current() {
        return current;
    }

    private int count(int samples) {
        int whole = samples / batchSize;
        return dropLast || samples % batchSize == 0 ? whole : whole + 1;
    }

    /** Begins with batchSize = 1, workers = 0, dropLast = false. */
    public static final class Builder<S, B> {

        /** Enough that a worker has its next batch at hand when the caller takes the last one. */
        private static final int PREFETCH_PER_WORKER = 2;

        private static final int UNSET = 0;

        private final Dataset<S> dataset;
        private final Sampler sampler;
        private final Function<? super List<S>, ? extends B> collate;
        private int batchSize = 1;
        private int workers;
        private int prefetch = UNSET;
        private boolean dropLast;
        private EpochLengths lengths;

        private Builder(Dataset<S> dataset, Sampler sampler, Function<? super List<S>, ? extends B> collate) {
            this.dataset = Objects.requireNonNull(dataset, "dataset");
            this.sampler = Objects.requireNonNull(sampler, "sampler");
            this.collate = Objects.requireNonNull(collate, "collate");
            if (sampler.datasetSize() != dataset.size()) {
                throw new IllegalArgumentException("the sampler deals " + sampler.datasetSize()
                        + " samples, but the data set has " + dataset.size());
            }
        }

        /** Samples per batch on this rank, at least 1; the last batch of an epoch may have fewer. */
        public Builder<S, B> batchSize(int batchSize) {
            this.batchSize = atLeast(1, "batchSize", batchSize);
            return this;
        }

        /** Threads that read; 0 reads on the iterating thread, when a batch is asked for. */
        public Builder<S, B> workers(int workers) {
            this.workers = atLeast(0, "workers", workers);
            return this;
        }

        /**
         * Batches in flight ahead of the caller, at least 1; 2 per worker unless set. Means nothing without workers.
         */
        public Builder<S, B> prefetch(int prefetch) {
            this.prefetch = atLeast(1, "prefetch", prefetch);
            return this;
        }

        /** Leaves out a last batch that is not full. */
        public Builder<S, B> dropLast(boolean dropLast) {
            this.dropLast = dropLast;
            return this;
        }

        /**
         * Has the ranks compare their numbers of batches at the start of every epoch.
         *
         * @param among what makes them even, such as {@code UnevenSteps.PAD.among(hvd)}
         */
        public Builder<S, B> evenSteps(EpochLengths among) {
            this.lengths = Objects.requireNonNull(among, "epoch lengths");
            return this;
        }

        /** Makes the loader. */
        public DataLoader<S, B> build() {
            return new DataLoader<>(this);
        }

        private int batchesAhead() {
            if (workers == 0) {
                return 0;
            }
            return prefetch == UNSET ? Math.multiplyExact(workers, PREFETCH_PER_WORKER) : prefetch;
        }

        private static int atLeast(int least, String name, int value) {
            if (value < least) {
                throw new IllegalArgumentException(name + " must be at least " + least + ", found " + value);
            }
            return value;
        }
    }
}
