package io.hvd.examples.cuda;

import io.hvd.HvdContext;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.data.cuda.DeviceBatch;
import io.hvd.data.cuda.DeviceLoader;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.cuda.DeviceOptimizer.Streams;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.gpu.UserStream;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.train.MeanMetric;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.zip.CRC32;

/**
 * Trains on every rank's share of the images, and evaluates on all of them.
 *
 * <p>Kernels run on the compute stream. When a gradient is queued there, the exchange stream is made to wait for it,
 * and hvd averages it on the exchange stream while the compute stream goes on with the layer before.
 */
final class MlpTraining implements AutoCloseable {
    private static final int EVALUATION_ROWS = 256;
    private static final int WEIGHTS_DIFFER = 1;

    private final HvdContext hvd;
    private final MlpOptions options;
    private final ImageSets images;
    private final Gpu gpu;
    private final UserStream compute;
    private final UserStream exchange;
    private final MlpKernels kernels;
    private final Mlp model;
    private final MlpBatch batch;
    private final DeviceOptimizer inner;
    private final DistributedOptimizer optimizer;
    private final RunTotals totals = new RunTotals();

    MlpTraining(HvdContext hvd, MlpOptions options, ImageSets images) {
        this.hvd = hvd;
        this.options = options;
        this.images = images;
        int mostRows = Math.max(options.batchSize(), EVALUATION_ROWS);
        this.gpu = new Gpu(hvd.device().index());
        this.compute = new UserStream();
        this.exchange = new UserStream();
        this.kernels = new MlpKernels(compute);
        // The ranks have different weights until those of rank 0 are broadcast.
        this.model = new Mlp(kernels, widths(), mostRows, new Random(options.seed() + hvd.rank()));
        this.batch = new MlpBatch(compute, mostRows);
        this.inner = optimizer(new Streams(hvd.device(), compute, exchange));
        this.optimizer = DistributedOptimizer.wrap(inner)
                .compression(options.compression())
                .build();
    }

    private List<Integer> widths() {
        List<Integer> widths = new ArrayList<>(List.of(pixels()));
        widths.addAll(options.hidden());
        widths.add(images.classes());
        return widths;
    }

    private int pixels() {
        return images.channels() * images.rows() * images.columns();
    }

    private DeviceOptimizer optimizer(Streams streams) {
        double rate = options.learningRate(hvd.size());
        return options.optimizer().equals(MlpOptions.ADAM)
                ? new DeviceAdam(kernels, streams, model.parameters(), rate)
                : new DeviceSgd(kernels, streams, model.parameters(), rate, options.momentum());
    }

    /** Trains all epochs; rank 0 prints the result line. @return the exit code */
    int run() throws ExampleFailure {
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
        DistributedSampler sampler = DistributedSampler.builder(images.train().size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        double loss = Double.NaN;
        double accuracy = Double.NaN;
        EvalSampler everyOne = new EvalSampler(images.test().size(), hvd.size(), hvd.rank());
        try (DeviceLoader<ImageSample> loader = loader(images.train(), sampler, options.batchSize());
                DeviceLoader<ImageSample> testLoader = loader(images.test(), everyOne, EVALUATION_ROWS)) {
            for (int epoch = 0; epoch < options.epochs(); epoch++) {
                sampler.setEpoch(epoch);
                trainEpoch(loader, epoch);
                MeanMetric losses = new MeanMetric("loss");
                MeanMetric hits = new MeanMetric("accuracy");
                evaluate(testLoader, losses, hits);
                loss = losses.reduce(hvd).mean();
                accuracy = hits.reduce(hvd).mean();
                say("epoch %d/%d: test loss %.6f, accuracy %.2f %%", epoch + 1, options.epochs(), loss, 100 * accuracy);
                FiniteLoss.require(loss, "the test loss after epoch " + (epoch + 1));
            }
        }
        WeightCheck weights = WeightCheck.of(hvd, checksum(model.parameters()));
        say("%s", weights);
        say("%s", totals.dataWait());
        say("%s", totals.result("cuda-mlp", images.origin(), hvd.size(), options.epochs(), loss, accuracy));
        return weights.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    /** A loader whose batches are complete when the compute stream uses them, without any wait on the host. */
    private DeviceLoader<ImageSample> loader(Dataset<ImageSample> samples, Sampler sampler, int batchSize) {
        return DeviceLoader.builder(samples, sampler, new ImageLayout(pixels()))
                .batchSize(batchSize)
                .workers(options.workers())
                .on(hvd.device(), compute.handle())
                .build();
    }

    private void trainEpoch(DeviceLoader<ImageSample> loader, int epoch) {
        long start = System.nanoTime();
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, loader.batches())) {
            for (DeviceBatch samples : loader) {
                step(samples);
                progress.step();
            }
        }
        compute.await();
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
    }

    private void step(DeviceBatch samples) {
        optimizer.zeroGradients();
        batch.use(samples);
        model.forward(batch);
        model.loss(batch, 1f / samples.size());
        model.backward(batch, parameter -> {
            inner.handOver();
            optimizer.gradientReady(parameter.name());
        });
        optimizer.step();
        totals.stepped(optimizer.lastStep());
        totals.saw(samples.size());
    }

    private void evaluate(DeviceLoader<ImageSample> loader, MeanMetric losses, MeanMetric hits) {
        for (DeviceBatch samples : loader) {
            batch.use(samples);
            model.forward(batch);
            model.loss(batch, 0);
            MlpBatch.Outcome outcome = batch.outcome();
            losses.add(outcome.lossSum(), samples.size());
            hits.add(outcome.right(), samples.size());
        }
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    @Override
    public void close() {
        compute.await();
        exchange.await();
        inner.close();
        batch.close();
        model.close();
        kernels.close();
        exchange.close();
        compute.close();
        gpu.close();
    }

    /** The checksum of all parameters, which it reads after the work that writes them has ended. */
    private static long checksum(List<DeviceParameter> parameters) {
        CRC32 sum = new CRC32();
        for (DeviceParameter parameter : parameters) {
            float[] values = parameter.read();
            ByteBuffer bytes = ByteBuffer.allocate(Float.BYTES * values.length);
            bytes.asFloatBuffer().put(values);
            sum.update(bytes);
        }
        return sum.getValue();
    }
}
