package io.hvd.optimizer;

import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Scale;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Divides gradients in the host's memory, piece by piece. */
final class GradientScaling {
    private static final int PIECE = 1 << 12;

    private GradientScaling() {}

    /** Divides floating-point tensors in place; others cannot be halves of anything and stay as they are. */
    static void divide(List<Tensor> tensors, int divisor) {
        if (divisor == 1) {
            return;
        }
        Converter converter = new Converter();
        ByteBuffer stage = ByteBuffer.allocateDirect(PIECE * Double.BYTES).order(ByteOrder.nativeOrder());
        for (Tensor tensor : tensors) {
            DType type = tensor.dtype() == DType.FLOAT64 ? DType.FLOAT64 : DType.FLOAT32;
            for (long from = 0; tensor.dtype().isFloating() && from < tensor.elements(); from += PIECE) {
                int count = (int) Math.min(PIECE, tensor.elements() - from);
                converter.pack(tensor, from, count, stage, 0, type, 1.0 / divisor);
                converter.unpack(stage, 0, type, tensor, from, count, Scale.ONE);
            }
        }
    }
}
