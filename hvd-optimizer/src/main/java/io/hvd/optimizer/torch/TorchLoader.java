package io.hvd.optimizer.torch;

import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.EpochBatches;
import io.hvd.data.EpochLengths;
import io.hvd.data.Sampler;
import io.hvd.data.cuda.BatchLayout;
import io.hvd.data.cuda.DeviceBatch;
import io.hvd.data.cuda.DeviceLoader;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TorchStreams;
import io.hvd.tensor.Device;
import java.util.Objects;

/**
 * Loads batches ahead as LibTorch's tensors. For a GPU, workers write samples into pinned host memory, and a stream beside
 * LibTorch's copies the next batch to the GPU while LibTorch computes on this one ({@link DeviceLoader}). For the CPU,
 * workers write into the tensors themselves; nothing is pinned or copied.
 *
 * <pre>{@code
 * try (var loader = TorchLoader.builder(train, sampler, layout).batchSize(64).workers(2).on(hvd.device()).build()) {
 *     for (TorchBatch batch : loader) {
 *         step(batch.fields().get(0), batch.fields().get(1));
 *     }
 * }
 * }</pre>
 *
 * <p>A batch is complete for work that is queued on the stream that was LibTorch's current one when the loader was built,
 * and its memory is used again for the batch after the next one, behind the work that is queued there by then. The next
 * batch ends the tensors of this one: keep what you need of them, with {@code clone()}. Order, epochs and failures are
 * those of {@link DataLoader}.
 *
 * <p>Everything is for the thread that builds it.
 *
 * @param <S> a sample
 */
public final class TorchLoader<S> implements EpochBatches<TorchBatch>, AutoCloseable {
    private final Batches batches;
    private TorchBatch lent;

    private TorchLoader(Batches batches) {
        this.batches = batches;
    }

    /** What is loaded, in the order of the sampler, and how a sample lies in a batch's tensors. */
    public static <S> Builder<S> builder(Dataset<S> dataset, Sampler sampler, BatchLayout<S> layout) {
        return new Builder<>(dataset, sampler, layout);
    }

    /** Batches per epoch on this rank. */
    @Override
    public int batches() {
        return batches.count();
    }

    /** Begins the sampler's next epoch; batches of the one before must not be used any more. */
    @Override
    public EpochBatches.Pass<TorchBatch> iterator() {
        takeBack();
        EpochBatches.Pass<TorchBatch> epoch = batches.epoch();
        return new EpochBatches.Pass<>() {
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
                return epoch.isNextReady();
            }

            @Override
            public boolean hasNext() {
                return epoch.hasNext();
            }

            @Override
            public TorchBatch next() {
                takeBack();
                lent = epoch.next();
                return lent;
            }
        };
    }

    @Override
    public int replicas() {
        return batches.replicas();
    }

    @Override
    public long waitNanos() {
        return batches.waitNanos();
    }

    private void takeBack() {
        if (lent != null) {
            lent.close();
            lent = null;
        }
    }

    /** Waits for workers and copies; no work on a batch may be queued or running any more. */
    @Override
    public void close() {
        takeBack();
        batches.close();
    }

    /** The batches of either kind of device. */
    private sealed interface Batches {
        int count();

        EpochBatches.Pass<TorchBatch> epoch();

        int replicas();

        long waitNanos();

        void close();
    }

    private record OnHost<S>(DataLoader<S, TorchBatch> loader) implements Batches {
        @Override
        public int count() {
            return loader.batches();
        }

        @Override
        public EpochBatches.Pass<TorchBatch> epoch() {
            return loader.iterator();
        }

        @Override
        public int replicas() {
            return loader.replicas();
        }

        @Override
        public long waitNanos() {
            return loader.waitNanos();
        }

        @Override
        public void close() {
            loader.close();
        }
    }

    private record OnGpu<S>(DeviceLoader<S> loader) implements Batches {
        @Override
        public int count() {
            return loader.batches();
        }

        @Override
        public EpochBatches.Pass<TorchBatch> epoch() {
            EpochBatches.Pass<DeviceBatch> epoch = loader.iterator();
            return new EpochBatches.Pass<>() {
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
                    return epoch.isNextReady();
                }

                @Override
                public boolean hasNext() {
                    return epoch.hasNext();
                }

                @Override
                public TorchBatch next() {
                    DeviceBatch batch = epoch.next();
                    return TorchLayout.onGpu(batch.size(), batch.fields());
                }
            };
        }

        @Override
        public int replicas() {
            return loader.replicas();
        }

        @Override
        public long waitNanos() {
            return loader.waitNanos();
        }

        @Override
        public void close() {
            loader.close();
        }
    }

    /** Begins with batchSize = 1, workers = 0, the CPU. */
    public static final class Builder<S> {
        private final Dataset<S> dataset;
        private final Sampler sampler;
        private final BatchLayout<S> layout;
        private int batchSize = 1;
        private int workers;
        private Device device = Device.CPU;
        private EpochLengths lengths;

        private Builder(Dataset<S> dataset, Sampler sampler, BatchLayout<S> layout) {
            this.dataset = Objects.requireNonNull(dataset, "dataset");
            this.sampler = Objects.requireNonNull(sampler, "sampler");
            this.layout = Objects.requireNonNull(layout, "layout");
        }

        /** Samples per batch on this rank, at least 1; the last batch of an epoch may have fewer. */
        public Builder<S> batchSize(int samples) {
            batchSize = samples;
            return this;
        }

        /** Threads that read; 0 reads on the iterating thread, when a batch is asked for. */
        public Builder<S> workers(int threads) {
            workers = threads;
            return this;
        }

        /** Has the ranks compare their steps, as {@link DataLoader.Builder#evenSteps} does. */
        public Builder<S> evenSteps(EpochLengths among) {
            lengths = Objects.requireNonNull(among, "epoch lengths");
            return this;
        }

        /** Where the tensors are to be, such as {@code hvd.device()}. */
        public Builder<S> on(Device place) {
            device = Objects.requireNonNull(place, "device");
            return this;
        }

        /** Makes the loader. @throws HvdException if LibTorch or hvd cannot use the GPU */
        public TorchLoader<S> build() {
            return new TorchLoader<>(device.isCpu() ? onHost() : onGpu());
        }

        private Batches onHost() {
            var loading = DataLoader.builder(dataset, sampler, new TorchLayout<>(layout)::onHost)
                    .batchSize(batchSize)
                    .workers(workers);
            return new OnHost<>((lengths == null ? loading : loading.evenSteps(lengths)).build());
        }

        private Batches onGpu() {
            TorchRuntime.whyNoGpu().ifPresent(why -> {
                throw new HvdException(ErrorId.NO_DEVICE, "batches cannot be loaded to " + device + ": " + why);
            });
            var loading = DeviceLoader.builder(dataset, sampler, layout)
                    .batchSize(batchSize)
                    .workers(workers)
                    .on(device, TorchStreams.current((byte) device.index()));
            return new OnGpu<>((lengths == null ? loading : loading.evenSteps(lengths)).build());
        }
    }
}
