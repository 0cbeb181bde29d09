package io.hvd.optimizer.torch;

import io.hvd.optimizer.torch.parameter.OptimizerConstants;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.function.Predicate;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * LAMB for a LibTorch model, on the model's device: {@code new TorchOptimizer(new TorchLamb(model.parameters(), 0.002),
 * model.named_parameters())}. It is what {@link io.hvd.optimizer.Lamb} is on arrays (You et al., "Large Batch Optimization for
 * Deep Learning: Training BERT in 76 minutes", ICLR 2020, algorithm 2), with each tensor of parameters as one layer.
 *
 * <p>LibTorch's Adam, whose state this is, steps from 0 with the rate 1, which gives its directions; these are decayed and made as
 * long as the layer's values. For the time of a step it takes the memory of one more set of parameters.
 */
public final class TorchLamb extends Adam implements OptimizerConstants {
    private final double weightDecay;
    private final Predicate<Tensor> adapted;

    /** With the settings of the paper: beta1 0.9, beta2 0.999, epsilon 1e-6, weight decay 0.01. */
    public TorchLamb(TensorVector parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.999, 1e-6, 0.01, parameter -> true);
    }

    /**
     * LAMB with these constants.
     *
     * @param adapted which parameters have a rate of their own and decay, the same on every rank, such as {@code parameter ->
     *     parameter.dim() > 1} to leave biases and the scales of norms to Adam
     * @throws io.hvd.error.HvdException if a beta is not at least 0 and less than 1, or the decay is negative
     */
    public TorchLamb(
            TensorVector parameters,
            double learningRate,
            double beta1,
            double beta2,
            double epsilon,
            double weightDecay,
            Predicate<Tensor> adapted) {
        super(parameters, options(learningRate, beta1, beta2, epsilon));
        this.weightDecay = LayerwiseRate.requireNotNegative("TorchLamb", "weight decay", weightDecay);
        this.adapted = adapted;
    }

    private static AdamOptions options(double learningRate, double beta1, double beta2, double epsilon) {
        AdamOptions options =
                new AdamOptions(LayerwiseRate.requireNotNegative("TorchLamb", "learning rate", learningRate));
        // A std::tuple keeps its last element first.
        options.betas().put(0, LayerwiseRate.requireShare("TorchLamb", "beta2", beta2));
        options.betas().put(1, LayerwiseRate.requireShare("TorchLamb", "beta1", beta1));
        options.eps().put(LayerwiseRate.requireNotNegative("TorchLamb", "epsilon", epsilon));
        return options;
    }

    /** @param values of before the step @param rate that of the parameter's group */
    private record Layer(Tensor parameter, Tensor values, double rate) {}

    @Override
    public Tensor step() {
        double[] rates = rates();
        List<Layer> layers = new ArrayList<>();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            LayerwiseRate.withGradient(
                    this, (parameter, rate) -> layers.add(new Layer(parameter, parameter.clone(), rate)));
            try {
                layers.forEach(layer -> layer.parameter.zero_());
                set(group -> 1);
                super.step();
                layers.forEach(this::move);
            } catch (RuntimeException e) {
                layers.forEach(layer -> layer.parameter.copy_(layer.values));
                throw e;
            } finally {
                set(group -> rates[group]);
            }
        }
        return new Tensor();
    }

    /** Adam has left its direction in the parameter, with the opposite sign. */
    private void move(Layer layer) {
        Tensor direction = layer.parameter.neg();
        if (!adapted.test(layer.parameter)) {
            layer.parameter.copy_(layer.values.sub(direction, new Scalar(layer.rate)));
            return;
        }
        direction.add_(layer.values, new Scalar(weightDecay));
        Tensor valueNorm = LayerwiseRate.norm(layer.values);
        Tensor length = LayerwiseRate.norm(direction);
        Tensor ratio = LayerwiseRate.ratio(valueNorm, length, valueNorm.div(length));
        layer.parameter.copy_(layer.values.sub(direction.mul_(ratio.mul(new Scalar(layer.rate)))));
    }

    private void set(IntToDoubleFunction rate) {
        for (int group = 0; group < param_groups().size(); group++) {
            options(group).set_lr(rate.applyAsDouble(group));
        }
    }

    private double[] rates() {
        double[] rates = new double[Math.toIntExact(param_groups().size())];
        for (int group = 0; group < rates.length; group++) {
            rates[group] = options(group).get_lr();
        }
        return rates;
    }

    private OptimizerOptions options(int group) {
        return param_groups().get(group).options();
    }

    @Override
    public Map<String, Double> constants() {
        return Map.of("weight decay", weightDecay);
    }
}
