package io.hvd.examples.cuda;

import io.hvd.examples.cuda.MlpKernels.Extent;
import io.hvd.examples.cuda.MlpKernels.Turned;
import io.hvd.examples.gpu.DeviceArray;
import io.hvd.tensor.Shape;
import java.util.Random;

/** A fully connected layer, with ReLU except for the last layer, and memory for the results of a batch. */
final class Layer implements AutoCloseable {
    private final int inputs;
    private final int outputs;
    private final boolean relu;
    private final DeviceParameter weight;
    private final DeviceParameter bias;
    private final DeviceArray result;
    private final DeviceArray resultGradient;

    /** @param mostRows the largest number of rows of a batch */
    Layer(String name, int inputs, int outputs, boolean relu, int mostRows, Random random) {
        this.inputs = inputs;
        this.outputs = outputs;
        this.relu = relu;
        this.weight = DeviceParameter.of(name + ".weight", Shape.of(outputs, inputs), spread(random));
        this.bias = DeviceParameter.of(name + ".bias", Shape.of(outputs), new float[outputs]);
        this.result = new DeviceArray(4L * mostRows * outputs);
        this.resultGradient = new DeviceArray(4L * mostRows * outputs);
    }

    /**
     * Initial weights with which outputs have the variance of the inputs (He et al., "Delving Deep into Rectifiers",
     * ICCV 2015).
     */
    private float[] spread(Random random) {
        float[] values = new float[inputs * outputs];
        double deviation = Math.sqrt(2.0 / inputs);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (deviation * random.nextGaussian());
        }
        return values;
    }

    DeviceParameter weight() {
        return weight;
    }

    DeviceParameter bias() {
        return bias;
    }

    int outputs() {
        return outputs;
    }

    DeviceArray result() {
        return result;
    }

    /** The memory for the gradient of the result, which the next layer or the loss writes. */
    DeviceArray resultGradient() {
        return resultGradient;
    }

    void forward(MlpKernels kernels, DeviceArray from, int rows) {
        kernels.multiply(Turned.RIGHT, from, weight.value(), result, new Extent(rows, outputs, inputs));
        kernels.addBias(relu, result, bias.value(), rows, outputs);
    }

    void biasBackward(MlpKernels kernels, int rows) {
        if (relu) {
            kernels.reluBackward(resultGradient, result, (long) rows * outputs);
        }
        kernels.biasGradient(resultGradient, bias.gradient(), rows, outputs);
    }

    void weightBackward(MlpKernels kernels, DeviceArray from, int rows) {
        kernels.multiply(Turned.LEFT, resultGradient, from, weight.gradient(), new Extent(outputs, inputs, rows));
    }

    /** Computes the gradient of the layer before. */
    void inputBackward(MlpKernels kernels, Layer before, int rows) {
        kernels.multiply(
                Turned.NONE, resultGradient, weight.value(), before.resultGradient, new Extent(rows, inputs, outputs));
    }

    @Override
    public void close() {
        weight.close();
        bias.close();
        result.close();
        resultGradient.close();
    }
}
