package io.hvd.optimizer.gradients;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** Gradients in host memory, piece by piece through a stage. Integers are left as they are. */
public final class HostGradients implements GradientArithmetic {
    private static final int PIECE = 1 << 12;

    private final List<Parameter> parameters;
    private final Converter converter = new Converter();
    private final ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CHECKS, PIECE * Double.BYTES);
    private final double[] piece = new double[PIECE];
    private final float[] floats = new float[PIECE];
    private final FiniteScan scan = new FiniteScan();

    public HostGradients(List<Parameter> parameters) {
        this.parameters = parameters;
    }

    @Override
    public int multiplyGradients(double factor) {
        int first = -1;
        for (int i = 0; i < parameters.size(); i++) {
            Tensor gradient = floating(parameters.get(i));
            if (gradient != null && !multiply(gradient, factor) && first < 0) {
                first = i;
            }
        }
        return first;
    }

    @Override
    public int firstNonFinite() {
        for (int i = 0; i < parameters.size(); i++) {
            Tensor gradient = floating(parameters.get(i));
            if (gradient != null && scan.first(gradient) >= 0) {
                return i;
            }
        }
        return -1;
    }

    /** @param factor for 0 the gradient becomes zeros, whatever it is */
    public void multiplyGradient(int parameter, double factor) {
        Tensor gradient = factor == 1 ? null : floating(parameters.get(parameter));
        if (gradient != null && factor == 0) {
            gradient.copyFrom(Tensor.zeros(gradient.dtype(), gradient.shape()));
        } else if (gradient != null) {
            multiply(gradient, factor);
        }
    }

    /** @return whether all products are finite */
    private boolean multiply(Tensor gradient, double factor) {
        DType type = wide(gradient);
        boolean finite = true;
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            converter.pack(gradient, from, count, stage, 0, type, factor);
            finite &= type == DType.FLOAT64 ? doublesAreFinite(count) : floatsAreFinite(count);
            converter.unpack(stage, 0, type, gradient, from, count, Scale.ONE);
        }
        return finite;
    }

    /** A sum of products with zero is zero, unless one of the numbers is not finite: a loop without a branch. */
    private boolean floatsAreFinite(int count) {
        stage.asFloatBuffer().get(floats, 0, count);
        float zero = 0;
        for (int i = 0; i < count; i++) {
            zero += floats[i] * 0;
        }
        return zero == 0;
    }

    private boolean doublesAreFinite(int count) {
        stage.asDoubleBuffer().get(piece, 0, count);
        double zero = 0;
        for (int i = 0; i < count; i++) {
            zero += piece[i] * 0;
        }
        return zero == 0;
    }

    @Override
    public void clampGradients(double limit) {
        for (Parameter parameter : parameters) {
            Tensor gradient = floating(parameter);
            if (gradient != null) {
                clamp(gradient, limit);
            }
        }
    }

    private void clamp(Tensor gradient, double limit) {
        DType type = wide(gradient);
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            converter.pack(gradient, from, count, stage, 0, type, 1);
            if (type == DType.FLOAT64) {
                stage.asDoubleBuffer().get(piece, 0, count);
                for (int i = 0; i < count; i++) {
                    piece[i] = Math.max(-limit, Math.min(limit, piece[i]));
                }
                stage.asDoubleBuffer().put(piece, 0, count);
            } else {
                stage.asFloatBuffer().get(floats, 0, count);
                for (int i = 0; i < count; i++) {
                    floats[i] = Math.max((float) -limit, Math.min((float) limit, floats[i]));
                }
                stage.asFloatBuffer().put(floats, 0, count);
            }
            converter.unpack(stage, 0, type, gradient, from, count, Scale.ONE);
        }
    }

    @Override
    public double gradientNorm() {
        double squares = 0;
        for (Parameter parameter : parameters) {
            Tensor gradient = floating(parameter);
            if (gradient != null) {
                squares += squares(gradient);
            }
        }
        return Math.sqrt(squares);
    }

    private double squares(Tensor gradient) {
        DType type = wide(gradient);
        double squares = 0;
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            converter.pack(gradient, from, count, stage, 0, type, 1);
            squares += type == DType.FLOAT64 ? squaresOfDoubles(count) : squaresOfFloats(count);
        }
        return squares;
    }

    private double squaresOfFloats(int count) {
        stage.asFloatBuffer().get(floats, 0, count);
        double squares = 0;
        for (int i = 0; i < count; i++) {
            squares += (double) floats[i] * floats[i];
        }
        return squares;
    }

    private double squaresOfDoubles(int count) {
        stage.asDoubleBuffer().get(piece, 0, count);
        double squares = 0;
        for (int i = 0; i < count; i++) {
            squares += piece[i] * piece[i];
        }
        return squares;
    }

    private static DType wide(Tensor gradient) {
        return gradient.dtype() == DType.FLOAT64 ? DType.FLOAT64 : DType.FLOAT32;
    }

    /** Null for integers. */
    private static Tensor floating(Parameter parameter) {
        Tensor gradient = parameter.gradient();
        if (!gradient.device().isCpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the gradient of \"" + parameter.name() + "\", " + gradient + ", is on " + gradient.device()
                            + ", where hvd has no kernels to unscale or clip it: the optimizer must do so itself, by"
                            + " implementing GradientArithmetic as TorchOptimizer does");
        }
        return gradient.dtype().isFloating() ? gradient : null;
    }
}
