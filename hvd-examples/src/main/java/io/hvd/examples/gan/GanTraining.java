package io.hvd.examples.gan;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.GlobalBatch;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.MeanMetric;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Trains both nets in turn on every rank's share of the points, and counts where generated points lie. */
final class GanTraining {
    private static final int WEIGHTS_DIFFER = 1;
    /** The seeds of noise, which must not be near those of other samples. */
    private static final long EVALUATION_NOISE = 1L << 40;

    private static final long GENERATOR_NOISE = 1L << 41;
    private static final long DISCRIMINATOR_NOISE = 1L << 42;

    private final HvdContext hvd;
    private final GanOptions options;
    private final int batchPerRank;
    private final RingOfPoints ring;
    private final TorchDevice device;
    private final Adversaries nets;
    private final RunTotals totals = new RunTotals();
    private long steps;

    /** @throws ParseException if the batch cannot be dealt evenly to the ranks */
    GanTraining(HvdContext hvd, GanOptions options) throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.batchPerRank = new GlobalBatch("batch-size", options.batchSize()).ofEachOf(hvd.size());
        this.ring = new RingOfPoints(options.modes(), options.deviation(), options.points(), options.seed());
        this.device = TorchDevice.of(hvd, options.cuda());
        this.nets = new Adversaries(hvd, options, device);
    }

    /** Trains all epochs; rank 0 prints. @return the exit code */
    int run() throws ExampleFailure {
        nets.broadcast();
        DistributedSampler sampler = DistributedSampler.builder(ring.size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        double loss = Double.NaN;
        ModeCounts counts = count();
        say("before the training: %s", inWords(counts));
        int epoch = 0;
        try (TorchLoader<float[]> loader = loader(sampler)) {
            for (; epoch < options.epochs() && steps < options.maxSteps(); epoch++) {
                sampler.setEpoch(epoch);
                loss = train(loader, epoch);
                FiniteLoss.require(loss, "the discriminator's loss of epoch " + (epoch + 1));
                counts = count();
                say("epoch %d/%d: discriminator loss %.4f, %s", epoch + 1, options.epochs(), loss, inWords(counts));
            }
        }
        return finish(epoch, loss, counts);
    }

    private static String inWords(ModeCounts counts) {
        return String.format(
                Locale.ROOT,
                "%.1f %% of %d generated points near a mode, %d of %d modes covered",
                100 * counts.share(),
                counts.points(),
                counts.covered(),
                counts.near().length);
    }

    private int finish(int epochs, double loss, ModeCounts counts) {
        WeightCheck generator = WeightCheck.of(hvd, nets.generator());
        WeightCheck discriminator = WeightCheck.of(hvd, nets.discriminator());
        say("generator: %s", generator);
        say("discriminator: %s", discriminator);
        say(
                "%s modes=%d covered=%d evaluated=%d",
                totals.result("gan", DataOrigin.DRAWN, hvd.size(), epochs, loss, counts.share()),
                options.modes(),
                counts.covered(),
                counts.points());
        return generator.areEqual() && discriminator.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    private TorchLoader<float[]> loader(DistributedSampler sampler) {
        return TorchLoader.builder(ring, sampler, new PointLayout())
                .batchSize(batchPerRank)
                .workers(options.workers())
                .on(device.of(hvd))
                .build();
    }

    /** Returns the mean loss of the discriminator over all ranks. */
    private double train(TorchLoader<float[]> loader, int epoch) {
        long start = System.nanoTime();
        MeanMetric losses = new MeanMetric("discriminator_loss");
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, loader.batches())) {
            for (TorchBatch batch : loader) {
                losses.add(step(batch) * batch.size(), batch.size());
                progress.step();
                if (++steps >= options.maxSteps()) {
                    break;
                }
            }
        }
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        return losses.reduce(hvd).mean();
    }

    private double step(TorchBatch batch) {
        try (PointerScope scope = new PointerScope()) {
            double loss = nets.stepOfDiscriminator(batch.fields().get(0), noise(DISCRIMINATOR_NOISE, batch.size()));
            totals.stepped(nets.lastStep());
            nets.stepOfGenerator(noise(GENERATOR_NOISE, batch.size()));
            totals.saw(batch.size());
            return loss;
        }
    }

    /** This rank's share of the noise of a step. */
    private Tensor noise(long seed, int samples) {
        long first = (steps * hvd.size() + hvd.rank()) * batchPerRank;
        long[] places = LongStream.range(first, first + samples).toArray();
        return device.onto(new Noise(options.noise(), options.seed() + seed).at(places));
    }

    /** Generates points, the same ones each time and on any number of ranks, and counts where those of all ranks lie. */
    private ModeCounts count() {
        EvalSampler share = new EvalSampler(options.samples(), hvd.size(), hvd.rank());
        Noise noise = new Noise(options.noise(), options.seed() + EVALUATION_NOISE);
        float[] coordinates = new float[RingOfPoints.COORDINATES * share.length()];
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            long[] places = IntStream.of(share.indices()).asLongStream().toArray();
            Tensor made = nets.generator().forward(device.onto(noise.at(places)));
            made.cpu().contiguous().data_ptr_float().get(coordinates);
        }
        return ModeCounts.of(ring, coordinates).ofAllRanks(hvd);
    }
}
