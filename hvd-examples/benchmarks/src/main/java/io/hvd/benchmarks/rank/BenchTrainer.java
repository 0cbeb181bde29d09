package io.hvd.benchmarks.rank;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.examples.image.ImageClassifier;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.spi.StartupHook;
import java.nio.file.Path;
import java.util.ServiceLoader;
import java.util.function.UnaryOperator;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** One of the ways to train the same net; all ways use one thread per rank. */
interface BenchTrainer extends AutoCloseable {
    /** Trains on one batch. */
    void step();

    /** True if this way averages gradients. */
    default boolean communicates() {
        return true;
    }

    /** True if the ranks negotiate again after another way of hvd's has had its turn. */
    default boolean negotiates() {
        return false;
    }

    @Override
    void close();

    /** The net, the images and the optimizer, which are the same for all ways. */
    final class Model {
        /**
         * A rate at which the net hardly changes. Otherwise its gradients would be denormal numbers after thousands of
         * steps on one batch, and make the CPU slow.
         */
        private static final double LEARNING_RATE = 1e-6;

        final ImageClassifier net;
        final Tensor images;
        final Tensor labels;
        final SGD sgd;

        Model(Net kind) {
            ServiceLoader.load(StartupHook.class).forEach(StartupHook::beforeInit);
            torch.set_num_threads(1);
            openblas_nolapack.blas_set_num_threads(1);
            net = kind.make();
            images = kind.images();
            labels = kind.labels();
            sgd = new SGD(net.parameters(), new SGDOptions(LEARNING_RATE));
        }

        Tensor loss() {
            return Net.loss(net, images, labels);
        }
    }

    /** @param way {@code hvd}, {@code fp16}, {@code fp16-range}, {@code finite}, {@code ddp}, {@code plain} or {@code meeting} */
    static BenchTrainer of(String way, Net kind, Path folder) {
        return switch (way) {
            case "hvd" -> new WithHvd(kind, way, wrapped -> wrapped);
            case "fp16" -> new WithHvd(kind, way, wrapped -> wrapped.compression(Compression.FP16));
            case "fp16-range" ->
                new WithHvd(
                        kind,
                        way,
                        wrapped -> wrapped.compression(Compression.FP16).rangeControl(RangeControl.every(1000)));
            case "finite" -> new WithHvd(kind, way, wrapped -> wrapped.refuseNonFinite(true));
            case "ddp" -> new WithDdp(kind, folder);
            case "plain" -> new Plain(kind);
            case "meeting" -> new InStep(kind, folder);
            default -> throw new IllegalArgumentException("no such way to train: " + way);
        };
    }

    /** Trains with LibTorch alone, without communication. */
    final class Plain implements BenchTrainer {
        private final Model model;

        Plain(Net kind) {
            this.model = new Model(kind);
        }

        @Override
        public void step() {
            model.sgd.zero_grad();
            model.loss().backward();
            model.sgd.step();
        }

        @Override
        public boolean communicates() {
            return false;
        }

        @Override
        public void close() {
            // nothing is shared
        }
    }

    /**
     * Trains in the same way, but no rank begins a step before all ranks have ended the step before. Averaging cannot
     * do without that either.
     */
    final class InStep implements BenchTrainer {
        private final Plain alone;
        private final SharedMemoryBarrier barrier;

        InStep(Net kind, Path folder) {
            alone = new Plain(kind);
            barrier = new SharedMemoryBarrier(folder, PlaceInJob.ofThisProcess());
        }

        @Override
        public void step() {
            alone.step();
            barrier.await();
        }

        @Override
        public boolean communicates() {
            return false;
        }

        @Override
        public void close() {
            alone.close();
        }
    }

    /** Trains with hvd, as a user's program does. */
    final class WithHvd implements BenchTrainer {
        private final HvdContext hvd = Hvd.init();
        private final Model model;
        private final DistributedOptimizer optimizer;

        WithHvd(Net kind, String scope, UnaryOperator<DistributedOptimizerBuilder> settings) {
            model = new Model(kind);
            var wrapped = DistributedOptimizer.wrap(new TorchOptimizer(model.sgd, model.net.named_parameters()));
            optimizer = settings.apply(wrapped.scope(scope)).build();
            optimizer.broadcastParameters(0);
        }

        @Override
        public boolean negotiates() {
            return true;
        }

        @Override
        public void step() {
            optimizer.zeroGradients();
            model.loss().backward();
            optimizer.step();
        }

        @Override
        public void close() {
            hvd.close();
        }
    }

    /** Trains with LibTorch's reducer of DistributedDataParallel over Gloo, with torch's default bucket sizes. */
    final class WithDdp implements BenchTrainer {
        private final Model model;
        private final Gloo gloo;
        private final DdpReducer reducer;

        WithDdp(Net kind, Path folder) {
            PlaceInJob job = PlaceInJob.ofThisProcess();
            model = new Model(kind);
            gloo = Gloo.onOneHost(folder, job.rank(), job.size());
            TensorVector parameters = model.net.parameters();
            reducer = new DdpReducer(parameters, gloo.asDefault(job.rank(), job.size()));
        }

        @Override
        public void step() {
            model.sgd.zero_grad();
            reducer.beforeForward();
            Tensor loss = model.loss();
            reducer.beforeBackward();
            loss.backward();
            model.sgd.step();
        }

        @Override
        public void close() {
            gloo.meet();
            reducer.close();
            gloo.close();
        }
    }
}
