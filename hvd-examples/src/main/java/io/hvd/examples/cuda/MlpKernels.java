package io.hvd.examples.cuda;

import static io.hvd.cuda.DriverCode.check;

import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/** The kernels of mlp.cu, queued on one stream. Matrices are stored row by row; memory belongs to the caller. */
final class MlpKernels implements AutoCloseable {
    private static final String RESOURCE = "mlp.ptx";
    private static final int TILE = 32;
    private static final int LINES = 8;
    private static final int THREADS = 256;

    private final UserStream stream;
    private final CUmodule module = new CUmodule();
    private final Map<String, CUfunction> functions = new HashMap<>();

    MlpKernels(UserStream stream) {
        this.stream = stream;
        check("cuModuleLoadData of " + RESOURCE, JCudaDriver.cuModuleLoadData(module, ptx()));
    }

    static String ptx() {
        try (InputStream ptx = MlpKernels.class.getResourceAsStream(RESOURCE)) {
            return new String(ptx.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException("reading " + RESOURCE + " from train.jar", e);
        }
    }

    /** Says which factor of a product is transposed in memory. */
    enum Turned {
        NONE("nn"),
        LEFT("tn"),
        RIGHT("nt");

        private final String suffix;

        Turned(String suffix) {
            this.suffix = suffix;
        }
    }

    /** The product's rows and columns, and the number of products that are summed for each element. */
    record Extent(int rows, int columns, int inner) {}

    /** result = left * right. */
    void multiply(Turned turned, DeviceArray left, DeviceArray right, DeviceArray result, Extent extent) {
        launch(
                "mlp_matmul_" + turned.suffix,
                new Grid(blocks(extent.columns, TILE), blocks(extent.rows, TILE), TILE, LINES),
                of(left),
                of(right),
                of(result),
                of(extent.rows),
                of(extent.columns),
                of(extent.inner));
    }

    /** outputs += bias in every row; with relu, negative values become 0. */
    void addBias(boolean relu, DeviceArray outputs, DeviceArray bias, int rows, int columns) {
        long count = (long) rows * columns;
        launch(relu ? "mlp_bias_relu" : "mlp_bias", line(count), of(outputs), of(bias), of(count), of(columns));
    }

    /** Sets the gradient to 0 where the output of the layer is 0. */
    void reluBackward(DeviceArray gradient, DeviceArray outputs, long count) {
        launch("mlp_relu_backward", line(count), of(gradient), of(outputs), of(count));
    }

    /** Computes the sums of the columns. */
    void biasGradient(DeviceArray gradient, DeviceArray sums, int rows, int columns) {
        launch(
                "mlp_bias_gradient",
                new Grid(blocks(columns, TILE), 1, TILE, LINES),
                of(gradient),
                of(sums),
                of(rows),
                of(columns));
    }

    /**
     * Computes the cross-entropy of softmax.
     *
     * @param gradient memory for the gradient of scale times the sum of the losses; null to compute no gradient
     * @param losses memory for a float per row
     * @param hits memory for an int per row, which becomes 1 if the largest output is that of the label
     */
    void softmaxLoss(
            DeviceArray outputs,
            DeviceArray labels,
            DeviceArray gradient,
            DeviceArray losses,
            DeviceArray hits,
            int rows,
            int classes,
            float scale) {
        launch(
                "mlp_softmax_loss",
                line(rows),
                of(outputs),
                of(labels),
                of(gradient),
                of(losses),
                of(hits),
                of(rows),
                of(classes),
                of(scale));
    }

    /** @param velocity the velocity; null if there is no momentum */
    void sgd(DeviceParameter parameter, DeviceArray velocity, float rate, float momentum) {
        launch(
                "mlp_sgd",
                line(parameter.count()),
                of(parameter.value()),
                of(parameter.gradient()),
                of(velocity),
                of(rate),
                of(momentum),
                of(parameter.count()));
    }

    /** @param rates Adam's numbers in this step */
    void adam(DeviceParameter parameter, DeviceArray mean, DeviceArray square, AdamRates rates) {
        launch(
                "mlp_adam",
                line(parameter.count()),
                of(parameter.value()),
                of(parameter.gradient()),
                of(mean),
                of(square),
                of(rates.rate()),
                of(rates.unbias()),
                of(rates.beta1()),
                of(rates.beta2()),
                of(rates.epsilon()),
                of(parameter.count()));
    }

    /** The shape of a launch: the numbers of blocks, and of threads in each, in x and y. */
    private record Grid(int across, int down, int threadsAcross, int threadsDown) {}

    private static Grid line(long count) {
        return new Grid(Math.max(1, blocks(count, THREADS)), 1, THREADS, 1);
    }

    private static int blocks(long count, int each) {
        return Math.toIntExact((count + each - 1) / each);
    }

    private void launch(String entry, Grid grid, Pointer... arguments) {
        check(
                "cuLaunchKernel of " + entry,
                JCudaDriver.cuLaunchKernel(
                        functions.computeIfAbsent(entry, this::function),
                        grid.across,
                        grid.down,
                        1,
                        grid.threadsAcross,
                        grid.threadsDown,
                        1,
                        0,
                        stream.queue(),
                        Pointer.to((NativePointerObject[]) arguments),
                        null));
    }

    private CUfunction function(String entry) {
        CUfunction function = new CUfunction();
        check("cuModuleGetFunction(" + entry + ")", JCudaDriver.cuModuleGetFunction(function, module, entry));
        return function;
    }

    private static Pointer of(DeviceArray array) {
        return Pointer.to(array == null ? new CUdeviceptr() : array.pointer());
    }

    private static Pointer of(int value) {
        return Pointer.to(new int[] {value});
    }

    private static Pointer of(long value) {
        return Pointer.to(new long[] {value});
    }

    private static Pointer of(float value) {
        return Pointer.to(new float[] {value});
    }

    /** Unloads the kernels; no work may be under way. */
    @Override
    public void close() {
        check("cuModuleUnload", JCudaDriver.cuModuleUnload(module));
    }
}
