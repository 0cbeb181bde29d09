package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/** A sequence of fully connected layers, whose work is queued on the kernels' stream. */
final class Mlp implements AutoCloseable {
    private final MlpKernels kernels;
    private final List<Layer> layers = new ArrayList<>();

    /**
     * @param widths the widths of the input, the hidden layers and the output
     * @param mostRows the largest number of rows of a batch
     */
    Mlp(MlpKernels kernels, List<Integer> widths, int mostRows, Random random) {
        this.kernels = kernels;
        for (int i = 1; i < widths.size(); i++) {
            boolean last = i == widths.size() - 1;
            layers.add(new Layer("layer" + i, widths.get(i - 1), widths.get(i), !last, mostRows, random));
        }
    }

    /** The parameters in the order of the layers. */
    List<DeviceParameter> parameters() {
        return layers.stream()
                .flatMap(layer -> List.of(layer.weight(), layer.bias()).stream())
                .toList();
    }

    void forward(MlpBatch batch) {
        DeviceArray from = batch.pixels();
        for (Layer layer : layers) {
            layer.forward(kernels, from, batch.rows());
            from = layer.result();
        }
    }

    /**
     * Computes the loss of every row of the batch that went forward last, and whether its class was found.
     *
     * @param scale factor of the gradient; 0 to compute no gradient
     */
    void loss(MlpBatch batch, float scale) {
        kernels.softmaxLoss(
                last().result(),
                batch.labels(),
                scale == 0 ? null : last().resultGradient(),
                batch.losses(),
                batch.hits(),
                batch.rows(),
                last().outputs(),
                scale);
    }

    /**
     * Runs backward from the last layer to the first.
     *
     * @param ready told of each gradient as soon as its work is queued
     */
    void backward(MlpBatch batch, Consumer<DeviceParameter> ready) {
        for (int i = layers.size() - 1; i >= 0; i--) {
            Layer layer = layers.get(i);
            layer.biasBackward(kernels, batch.rows());
            ready.accept(layer.bias());
            layer.weightBackward(
                    kernels, i == 0 ? batch.pixels() : layers.get(i - 1).result(), batch.rows());
            ready.accept(layer.weight());
            if (i > 0) {
                layer.inputBackward(kernels, layers.get(i - 1), batch.rows());
            }
        }
    }

    private Layer last() {
        return layers.get(layers.size() - 1);
    }

    @Override
    public void close() {
        layers.forEach(Layer::close);
    }
}
