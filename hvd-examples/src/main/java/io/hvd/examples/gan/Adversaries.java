package io.hvd.examples.gan;

import static org.bytedeco.pytorch.global.torch.softplus;

import io.hvd.HvdContext;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.torch.TorchOptimizer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Tensor;

/**
 * The generator, the discriminator, and an optimizer of each. Their parameters have the same names. hvd numbers the optimizers in the
 * order in which each rank makes them, so they need no scope.
 *
 * <p>I. Goodfellow et al., "Generative Adversarial Nets", NeurIPS 2014, with the loss of the generator that does not saturate.
 */
final class Adversaries {
    /** The usual choice for GANs, in place of 0.9: the other net changes in the meantime. */
    private static final double FIRST_MOMENT = 0.5;

    private static final double SECOND_MOMENT = 0.99;

    private final DenseNet generator;
    private final DenseNet discriminator;
    private final DistributedOptimizer ofGenerator;
    private final DistributedOptimizer ofDiscriminator;

    /** @param device on which both nets are */
    Adversaries(HvdContext hvd, GanOptions options, TorchDevice device) {
        generator = device.onto(SeededModule.seeded(
                options.seed(), () -> new DenseNet(options.noise(), options.hidden(), RingOfPoints.COORDINATES)));
        discriminator = device.onto(SeededModule.seeded(
                options.seed() + 1, () -> new DenseNet(RingOfPoints.COORDINATES, options.hidden(), 1)));
        ofGenerator = optimizer(hvd, options, generator);
        ofDiscriminator = optimizer(hvd, options, discriminator);
    }

    private static DistributedOptimizer optimizer(HvdContext hvd, GanOptions options, DenseNet net) {
        AdamOptions adam = new AdamOptions(options.learningRate());
        // LibTorch keeps the pair as a tuple, which lies in memory from its last member to its first.
        adam.betas().put(0, SECOND_MOMENT).put(1, FIRST_MOMENT);
        return DistributedOptimizer.wrap(new TorchOptimizer(new Adam(net.parameters(), adam), net.named_parameters()))
                .context(hvd)
                .compression(options.compression())
                .build();
    }

    /** Every rank calls it. */
    void broadcast() {
        for (DistributedOptimizer each : new DistributedOptimizer[] {ofGenerator, ofDiscriminator}) {
            each.broadcastParameters(0);
            each.broadcastOptimizerState(0);
        }
    }

    DenseNet generator() {
        return generator;
    }

    DenseNet discriminator() {
        return discriminator;
    }

    /** Figures about the last step of the discriminator, whose step is the longer one. */
    StepStats lastStep() {
        return ofDiscriminator.lastStep();
    }

    /**
     * Trains the discriminator to tell points from generated ones.
     *
     * @return its loss, the sum of the losses on points of either kind; 2 log 2 if it only guesses
     */
    double stepOfDiscriminator(Tensor points, Tensor noise) {
        try (PointerScope scope = new PointerScope()) {
            ofDiscriminator.zeroGradients();
            Tensor made = generator.forward(noise).detach();
            Tensor loss = softplus(discriminator.forward(points).neg())
                    .mean()
                    .add(softplus(discriminator.forward(made)).mean());
            TorchOptimizer.backward(loss);
            ofDiscriminator.step();
            return loss.item_float();
        }
    }

    /**
     * Trains the generator to make points that the discriminator takes for real ones. Its backward pass goes through the
     * discriminator, whose gradients of this pass stay on the rank, until its next step begins without them.
     *
     * @return its loss; log 2 if the discriminator only guesses
     */
    double stepOfGenerator(Tensor noise) {
        try (PointerScope scope = new PointerScope()) {
            ofGenerator.zeroGradients();
            Tensor loss = softplus(
                            discriminator.forward(generator.forward(noise)).neg())
                    .mean();
            try (var local = ofDiscriminator.noSync()) {
                TorchOptimizer.backward(loss);
            }
            ofGenerator.step();
            return loss.item_float();
        }
    }
}
