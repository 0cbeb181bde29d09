package io.hvd.examples.image;

import io.hvd.examples.Flags;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.optimizer.torch.MasterWeights;
import io.hvd.optimizer.torch.TorchOptimizer;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The types in which LibTorch keeps a model and computes a forward pass and its loss, as far as it can. */
enum Precision {
    FP32,
    BF16,
    FP16,
    /** Weights in float16 beside float32 copies, as in Apex's level of this name. */
    O2;

    private static final String FLAG = "amp";

    static Option flag() {
        return Flags.valued(
                FLAG,
                "bf16 or fp16: mixed precision by autocast, for fp16 with a loss scale; O2: weights in float16 beside"
                        + " float32 copies, with a loss scale; default fp32, without");
    }

    static Precision of(CommandLine line) throws ParseException {
        if (HorovodMnistFlags.askForMixedPrecision(line)) {
            return FP16;
        }
        Precision chosen = valueOf(
                Flags.oneOf(line, FLAG, List.of("fp32", "bf16", "fp16", "O2")).toUpperCase(Locale.ROOT));
        if (chosen == O2 && line.hasOption("sharded-optimizer")) {
            throw new ParseException("--amp O2 and --sharded-optimizer exclude each other");
        }
        return chosen;
    }

    /** Gradients in bfloat16 have float32's range and need no scale. */
    GradScaler scaler() {
        return this == FP16 || this == O2 ? new GradScaler() : GradScaler.disabled();
    }

    /**
     * Makes the optimizer of a model, which is converted if its weights are to have 16 bits.
     *
     * @param make makes LibTorch's optimizer of what it is to step
     */
    TorchOptimizer optimizer(Module model, Function<TensorVector, Optimizer> make) {
        if (this == O2) {
            MasterWeights masters = MasterWeights.of(model, ScalarType.Half);
            return new TorchOptimizer(make.apply(masters.parameters()), masters);
        }
        return new TorchOptimizer(make.apply(model.parameters()), model.named_parameters());
    }

    /** Computes in this type. */
    Tensor compute(DeviceType device, Supplier<Tensor> forward) {
        if (this == FP32 || this == O2) {
            return forward.get();
        }
        try (Autocast narrow = Autocast.to(this == BF16 ? ScalarType.BFloat16 : ScalarType.Half, device)) {
            return forward.get();
        }
    }
}
