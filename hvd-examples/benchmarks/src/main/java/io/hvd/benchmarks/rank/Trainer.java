package io.hvd.benchmarks.rank;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.examples.image.ImageClassifier;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.spi.StartupHook;
import java.nio.file.Path;
import java.util.ServiceLoader;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** One of the ways to train the same net; all of them on one thread per rank. */
interface Trainer extends AutoCloseable {
    /** One batch. */
    void step();

    /** Whether gradients are averaged. */
    default boolean communicates() {
        return true;
    }

    @Override
    void close();

    /** What all ways have in common. */
    final class Model {
        /** The net stays as it is: after thousands of steps on one batch its gradients would be denormal, and the CPU slow. */
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

    /** @param way {@code hvd}, {@code ddp}, {@code plain} or {@code meeting} */
    static Trainer of(String way, Net kind, Path folder) {
        return switch (way) {
            case "hvd" -> new WithHvd(kind);
            case "ddp" -> new WithDdp(kind, folder);
            case "plain" -> new Plain(kind);
            case "meeting" -> new InStep(kind, folder);
            default -> throw new IllegalArgumentException("no such way to train: " + way);
        };
    }

    /** LibTorch alone; nobody talks to anybody. */
    final class Plain implements Trainer {
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
     * Trains in the same way, but no rank begins a step before all have ended the one before: what averaging cannot do
     * without.
     */
    final class InStep implements Trainer {
        private final Plain alone;
        private final Meeting meeting;

        InStep(Net kind, Path folder) {
            alone = new Plain(kind);
            meeting = new Meeting(folder, Job.ofThisProcess());
        }

        @Override
        public void step() {
            alone.step();
            meeting.meet();
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

    /** As a user writes it. */
    final class WithHvd implements Trainer {
        private final HvdContext hvd = Hvd.init();
        private final Model model;
        private final DistributedOptimizer optimizer;

        WithHvd(Net kind) {
            model = new Model(kind);
            optimizer = DistributedOptimizer.wrap(new TorchOptimizer(model.sgd, model.net.named_parameters()))
                    .build();
            optimizer.broadcastParameters(0);
        }

        String backend() {
            return hvd.backend();
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

    /** LibTorch's reducer of DistributedDataParallel over Gloo, with torch's own sizes of buckets. */
    final class WithDdp implements Trainer {
        private final Model model;
        private final Gloo gloo;
        private final DdpReducer reducer;

        WithDdp(Net kind, Path folder) {
            Job job = Job.ofThisProcess();
            model = new Model(kind);
            gloo = new Gloo(folder, job.rank(), job.size());
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
