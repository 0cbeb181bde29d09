package io.hvd.optimizer.torch.natives;

import io.hvd.kernel.ReduceKernel;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.util.List;
import org.bytedeco.openblas.global.openblas_nolapack;

/**
 * Adds by axpy of OpenBLAS, which comes with LibTorch and has loops for the processor's vector units. A factor of 1 changes no
 * bit, whether its loops round the product or not.
 */
public final class BlasKernel implements ReduceKernel {
    private static final HvdLogger LOG = HvdLogger.of(BlasKernel.class);
    /** OpenBLAS divides more than 10,000 elements between threads. */
    private static final int RUN = 8192;

    /** Whole vectors of every width, and a rest of them. */
    private static final int TRIED = 83;

    private static final List<Float> EXTREMES = List.of(
            0f,
            -0f,
            1f,
            -1.5f,
            Float.MIN_VALUE,
            -Float.MIN_NORMAL,
            Float.MAX_VALUE,
            Float.POSITIVE_INFINITY,
            Float.NaN,
            1e-30f,
            1 / 3f);

    BlasKernel() {}

    /** Has hvd add by OpenBLAS, which is loaded when there is an optimizer, if it comes to the bits of Java. */
    public static void install() {
        try {
            if (isExact()) {
                ReduceKernel.use(new BlasKernel());
            } else {
                LOG.warn("OpenBLAS's sums differ from those of Java, so hvd adds without it");
            }
        } catch (LinkageError e) { // a LibTorch of the system may come with another BLAS
            LOG.debug("hvd adds without OpenBLAS, which cannot be loaded: {}", e.toString());
        }
    }

    /** Each of some extreme numbers is added to each other, in float32 and float64, and the sums are multiplied. */
    private static boolean isExact() {
        float third = 1 / 3f;
        boolean exact = true;
        for (int shift = 0; shift < EXTREMES.size(); shift++) {
            float[] floats = new float[TRIED];
            float[] floatSums = new float[TRIED];
            double[] doubles = new double[TRIED];
            double[] doubleSums = new double[TRIED];
            for (int i = 0; i < TRIED; i++) {
                doubles[i] = floats[i] = value(i);
                doubleSums[i] = floatSums[i] = value(i + shift);
            }
            openblas_nolapack.cblas_saxpy(TRIED, 1, floats, 1, floatSums, 1);
            openblas_nolapack.cblas_sscal(TRIED, third, floatSums, 1);
            openblas_nolapack.cblas_daxpy(TRIED, 1, doubles, 1, doubleSums, 1);
            openblas_nolapack.cblas_dscal(TRIED, third, doubleSums, 1);
            for (int i = 0; i < TRIED; i++) {
                float sum = (value(i) + value(i + shift)) * third;
                double doubleSum = ((double) value(i) + value(i + shift)) * third;
                exact &= Float.compare(floatSums[i], sum) == 0 && Double.compare(doubleSums[i], doubleSum) == 0;
            }
        }
        return exact;
    }

    private static float value(int number) {
        return EXTREMES.get(number % EXTREMES.size());
    }

    @Override
    public boolean takes(DType type) {
        return type == DType.FLOAT32 || type == DType.FLOAT64;
    }

    @Override
    public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
        if (type == DType.FLOAT32) {
            FloatBuffer from = floats(operand);
            FloatBuffer to = floats(sum);
            for (int at = 0; at < count; at += RUN) {
                int run = Math.min(RUN, count - at);
                openblas_nolapack.cblas_saxpy(run, 1, from.position(at), 1, to.position(at), 1);
            }
        } else {
            DoubleBuffer from = doubles(operand);
            DoubleBuffer to = doubles(sum);
            for (int at = 0; at < count; at += RUN) {
                int run = Math.min(RUN, count - at);
                openblas_nolapack.cblas_daxpy(run, 1, from.position(at), 1, to.position(at), 1);
            }
        }
    }

    /** OpenBLAS has its own ways with factors that are 0 or infinite, which differ by version. */
    @Override
    public void multiply(DType type, double factor, ByteBuffer product, int count) {
        double by = type == DType.FLOAT32 ? (float) factor : factor;
        if (by == 0 || !Double.isFinite(by)) {
            multiplyByJava(type, by, product, count);
        } else if (type == DType.FLOAT32) {
            openblas_nolapack.cblas_sscal(count, (float) by, floats(product), 1);
        } else {
            openblas_nolapack.cblas_dscal(count, by, doubles(product), 1);
        }
    }

    private static void multiplyByJava(DType type, double by, ByteBuffer product, int count) {
        for (int i = 0; i < count; i++) {
            if (type == DType.FLOAT32) {
                product.putFloat(i * Float.BYTES, product.getFloat(i * Float.BYTES) * (float) by);
            } else {
                product.putDouble(i * Double.BYTES, product.getDouble(i * Double.BYTES) * by);
            }
        }
    }

    private static FloatBuffer floats(ByteBuffer buffer) {
        return buffer.duplicate().order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    private static DoubleBuffer doubles(ByteBuffer buffer) {
        return buffer.duplicate().order(ByteOrder.nativeOrder()).asDoubleBuffer();
    }
}
