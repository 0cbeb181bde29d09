package io.hvd.optimizer.torch;

import io.hvd.optimizer.torch.parameter.OptimizerConstants;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * LARS for a LibTorch model, on the model's device: {@code new TorchOptimizer(new TorchLars(model.parameters(), 0.1),
 * model.named_parameters())}. It is what {@link io.hvd.optimizer.Lars} is on arrays (You, Gitman and Ginsburg, "Large Batch
 * Training of Convolutional Networks", 2017), with each tensor of parameters as one layer.
 *
 * <p>The steps are those of LibTorch's SGD with momentum, whose state this is, over gradients that are decayed and multiplied
 * by the layer's local rate. For the time of a step it takes the memory of one more set of gradients; afterwards the
 * gradients are as they were.
 */
public final class TorchLars extends SGD implements OptimizerConstants {
    private final double weightDecay;
    private final double trust;
    private final Predicate<Tensor> adapted;

    /** With the paper's settings for ResNet-50: momentum 0.9, weight decay 0.0005, trust coefficient 0.001. */
    public TorchLars(TensorVector parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.0005, 0.001, parameter -> true);
    }

    /**
     * LARS with these constants.
     *
     * @param trust the local rate of a layer whose gradient is as long as its values, without decay
     * @param adapted which parameters have a local rate and decay, the same on every rank, such as {@code parameter ->
     *     parameter.dim() > 1} to leave biases and the scales of norms to SGD with momentum
     * @throws io.hvd.error.HvdException if the momentum is not at least 0 and less than 1, the decay is negative or the trust
     *     coefficient is not positive
     */
    public TorchLars(
            TensorVector parameters,
            double learningRate,
            double momentum,
            double weightDecay,
            double trust,
            Predicate<Tensor> adapted) {
        super(parameters, options(learningRate, momentum));
        this.weightDecay = LayerwiseRate.requireNotNegative("TorchLars", "weight decay", weightDecay);
        this.trust = LayerwiseRate.require(
                trust > 0 && trust < Double.POSITIVE_INFINITY, "TorchLars", "trust", trust, "above 0");
        this.adapted = adapted;
    }

    private static SGDOptions options(double learningRate, double momentum) {
        SGDOptions options =
                new SGDOptions(LayerwiseRate.requireNotNegative("TorchLars", "learning rate", learningRate));
        options.momentum().put(LayerwiseRate.requireShare("TorchLars", "momentum", momentum));
        return options;
    }

    private record Replaced(Tensor parameter, Tensor gradient) {}

    @Override
    public Tensor step() {
        List<Replaced> replaced = new ArrayList<>();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            try {
                LayerwiseRate.withGradient(this, (parameter, rate) -> {
                    if (adapted.test(parameter)) {
                        Tensor gradient = new Tensor(parameter.grad());
                        replaced.add(new Replaced(parameter, gradient));
                        parameter.mutable_grad().put(scaled(parameter, gradient));
                    }
                });
                super.step();
            } finally {
                replaced.forEach(one -> one.parameter.mutable_grad().put(one.gradient));
            }
        }
        return new Tensor();
    }

    private Tensor scaled(Tensor values, Tensor gradient) {
        Tensor valueNorm = LayerwiseRate.norm(values);
        Tensor gradientNorm = LayerwiseRate.norm(gradient);
        Tensor length = gradientNorm.add(valueNorm, new Scalar(weightDecay));
        Tensor local = LayerwiseRate.ratio(
                valueNorm, gradientNorm, valueNorm.mul(new Scalar(trust)).div(length));
        return gradient.add(values, new Scalar(weightDecay)).mul_(local);
    }

    @Override
    public Map<String, Double> constants() {
        return Map.of("weight decay", weightDecay, "trust", trust);
    }
}
