package io.hvd.data.cuda;

import io.hvd.cuda.CudaDevice;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.Epoch;
import io.hvd.data.EpochBatches;
import io.hvd.data.EpochLengths;
import io.hvd.data.Sampler;
import io.hvd.tensor.Device;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A {@link DataLoader} whose batches come to the GPU: workers write samples into pinned host memory, and a stream of its
 * own copies the next batch while the GPU computes on this one.
 *
 * <pre>{@code
 * try (var loader = DeviceLoader.builder(train, sampler, layout).batchSize(64).workers(2).on(hvd.device(), stream).build()) {
 *     for (DeviceBatch batch : loader) {
 *         step(batch.fields().get(0), batch.fields().get(1));
 *     }
 * }
 * }</pre>
 *
 * <p>A batch is complete for work that is queued on {@code stream} after {@code next()} has returned, and its memory is
 * used again for the batch after the next one, behind the work that is queued on {@code stream} by then. The host need
 * not wait for anything. Order, epochs and failures are those of {@link DataLoader}.
 *
 * <p>Everything is for the thread that builds it; asking for a batch makes the GPU its current one.
 *
 * @param <S> a sample
 */
public final class DeviceLoader<S> implements EpochBatches<DeviceBatch>, AutoCloseable {
    /** Besides those that workers fill: one that is being copied, and one that has just been handed over. */
    private static final int MORE_BUFFERS = 2;

    private static final int PREFETCH_PER_WORKER = 2;

    private final CudaDevice cuda;
    private final PinnedBatches<S> pinned;
    private final CopyQueue copies;
    private final DataLoader<S, PinnedBatches.Filled> loader;
    private final AtomicLong waitedNanos = new AtomicLong();
    private final Runnable handedOut;

    private DeviceLoader(Builder<S> builder, CudaDevice cuda) {
        FieldOffsets offsets = new FieldOffsets(builder.layout.fields(), builder.batchSize);
        int ahead = Math.max(1, builder.workers * PREFETCH_PER_WORKER);
        this.cuda = cuda;
        this.pinned = new PinnedBatches<>(cuda, offsets, builder.layout, ahead + MORE_BUFFERS);
        this.copies = new CopyQueue(cuda, builder.device, builder.stream, offsets);
        var loading = DataLoader.builder(builder.dataset, new Unrecorded(builder.sampler), pinned::fill)
                .batchSize(builder.batchSize)
                .workers(builder.workers)
                .prefetch(ahead)
                .dropLast(builder.dropLast);
        this.handedOut = () -> builder.sampler.recordBatch(builder.batchSize);
        this.loader = (builder.lengths == null ? loading : loading.evenSteps(builder.lengths)).build();
    }

    /** Needs {@link Builder#on} besides. */
    public static <S> Builder<S> builder(Dataset<S> dataset, Sampler sampler, BatchLayout<S> layout) {
        return new Builder<>(dataset, sampler, layout);
    }

    /** Batches per epoch on this rank. */
    @Override
    public int batches() {
        return loader.batches();
    }

    /** Begins the sampler's next epoch; batches of the one before must not be used any more. */
    @Override
    public EpochBatches.Pass<DeviceBatch> iterator() {
        return new Copied(loader.iterator());
    }

    @Override
    public int replicas() {
        return loader.replicas();
    }

    /** Waiting for a pinned buffer whose copy is under way counts too; the copy itself runs beside the host. */
    @Override
    public long waitNanos() {
        return waitedNanos.get();
    }

    /** Waits for copies and workers; no work on a batch may be queued or running any more. */
    @Override
    public void close() {
        loader.close();
        cuda.enter();
        copies.close();
        pinned.close();
        cuda.close();
    }

    /** Learns nothing of batches that are only on their way to the GPU; the {@link DeviceLoader} tells of those it hands out. */
    private record Unrecorded(Sampler sampler) implements Sampler {
        @Override
        public int datasetSize() {
            return sampler.datasetSize();
        }

        @Override
        public int replicas() {
            return sampler.replicas();
        }

        @Override
        public int length() {
            return sampler.length();
        }

        @Override
        public int[] indices() {
            return sampler.indices();
        }

        @Override
        public int[] beginEpoch() {
            return sampler.beginEpoch();
        }

        @Override
        public boolean isRest() {
            return sampler.isRest();
        }

        @Override
        public int[] repeatable() {
            return sampler.repeatable();
        }

        @Override
        public double progress(int batchSize, int taken, int batches) {
            return sampler.progress(batchSize, taken, batches);
        }
    }

    /** One epoch, one batch ahead where the workers are. */
    private final class Copied implements EpochBatches.Pass<DeviceBatch> {
        private final Epoch<PinnedBatches.Filled> epoch;
        private DeviceBatch upcoming;

        Copied(Epoch<PinnedBatches.Filled> epoch) {
            this.epoch = epoch;
        }

        @Override
        public int batches() {
            return epoch.batches();
        }

        @Override
        public double progress(int taken, int of) {
            return epoch.progress(taken, of);
        }

        @Override
        public boolean isNextReady() {
            return upcoming != null || epoch.isNextReady();
        }

        @Override
        public boolean hasNext() {
            return upcoming != null || epoch.hasNext();
        }

        @Override
        public DeviceBatch next() {
            long asked = System.nanoTime();
            try {
                return take();
            } finally {
                waitedNanos.addAndGet(System.nanoTime() - asked);
            }
        }

        private DeviceBatch take() {
            cuda.enter();
            // The batch before this one is used no more, as soon as what is queued now is done.
            copies.followUser();
            DeviceBatch batch = upcoming == null ? load() : upcoming;
            copies.holdBackUser();
            upcoming = epoch.hasNext() && epoch.isNextReady() ? load() : null;
            handedOut.run();
            return batch;
        }

        private DeviceBatch load() {
            copies.reclaim();
            return copies.send(epoch.next());
        }
    }

    /** Begins with batchSize = 1, workers = 0, dropLast = false. */
    public static final class Builder<S> {
        private final Dataset<S> dataset;
        private final Sampler sampler;
        private final BatchLayout<S> layout;
        private int batchSize = 1;
        private int workers;
        private boolean dropLast;
        private EpochLengths lengths;
        private Device device;
        private long stream;
        private CudaDevice opened;

        private Builder(Dataset<S> dataset, Sampler sampler, BatchLayout<S> layout) {
            this.dataset = Objects.requireNonNull(dataset, "dataset");
            this.sampler = Objects.requireNonNull(sampler, "sampler");
            this.layout = Objects.requireNonNull(layout, "layout");
        }

        /** Samples per batch on this rank, at least 1; the last batch of an epoch may have fewer. */
        public Builder<S> batchSize(int samples) {
            if (samples < 1) {
                throw new IllegalArgumentException("batchSize must be at least 1, found " + samples);
            }
            batchSize = samples;
            return this;
        }

        /** Threads that read into pinned memory; 0 reads on the iterating thread, when a batch is asked for. */
        public Builder<S> workers(int threads) {
            if (threads < 0) {
                throw new IllegalArgumentException("workers must be at least 0, found " + threads);
            }
            workers = threads;
            return this;
        }

        /** Leaves out a last batch that is not full. */
        public Builder<S> dropLast(boolean leaveOut) {
            dropLast = leaveOut;
            return this;
        }

        /** Has the ranks compare their steps, as {@link DataLoader.Builder#evenSteps} does. */
        public Builder<S> evenSteps(EpochLengths among) {
            lengths = Objects.requireNonNull(among, "epoch lengths");
            return this;
        }

        /**
         * @param gpu such as {@code hvd.device()}
         * @param usedOn handle of the CUDA stream that will work on the batches; 0 is the default stream
         */
        public Builder<S> on(Device gpu, long usedOn) {
            device = gpu;
            stream = usedOn;
            return this;
        }

        /** With a GPU that is open already; the loader closes it. */
        Builder<S> on(CudaDevice open) {
            opened = open;
            return this;
        }

        /**
         * @throws io.hvd.error.HvdException if the GPU cannot be used
         * @throws IllegalArgumentException if no GPU was named
         */
        public DeviceLoader<S> build() {
            if (device == null || device.isCpu()) {
                throw new IllegalArgumentException(
                        "the device is " + device + ", expected a GPU; DataLoader loads for the CPU");
            }
            CudaDevice cuda = opened == null ? CudaDevice.open(device.index()) : opened;
            try {
                return new DeviceLoader<>(this, cuda);
            } catch (RuntimeException e) {
                cuda.close();
                throw e;
            }
        }
    }
}
