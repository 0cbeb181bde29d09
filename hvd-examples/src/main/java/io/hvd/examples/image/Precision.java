package io.hvd.examples.image;

import io.hvd.examples.Flags;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.torch.Autocast;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The type in which LibTorch computes a forward pass and its loss, as far as it can. */
enum Precision {
    FP32,
    BF16,
    FP16;

    private static final String FLAG = "amp";

    static Option flag() {
        return Flags.valued(
                FLAG, "bf16 or fp16: mixed precision by autocast, for fp16 with a loss scale; default fp32, without");
    }

    static Precision of(CommandLine line) throws ParseException {
        if (HorovodMnistFlags.askForMixedPrecision(line)) {
            return FP16;
        }
        return valueOf(Flags.oneOf(line, FLAG, List.of("fp32", "bf16", "fp16")).toUpperCase(Locale.ROOT));
    }

    /** Gradients in bfloat16 have float32's range and need no scale. */
    GradScaler scaler() {
        return this == FP16 ? new GradScaler() : GradScaler.disabled();
    }

    /** Computes in this type. */
    Tensor compute(DeviceType device, Supplier<Tensor> forward) {
        if (this == FP32) {
            return forward.get();
        }
        try (Autocast narrow = Autocast.to(this == BF16 ? ScalarType.BFloat16 : ScalarType.Half, device)) {
            return forward.get();
        }
    }
}
