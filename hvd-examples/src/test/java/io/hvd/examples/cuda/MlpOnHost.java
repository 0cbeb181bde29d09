package io.hvd.examples.cuda;

import io.hvd.data.cuda.DeviceBatch;
import io.hvd.error.HvdException;
import io.hvd.examples.cuda.DeviceOptimizer.Streams;
import io.hvd.examples.cuda.MlpKernels.Extent;
import io.hvd.examples.cuda.MlpKernels.Turned;
import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import jcuda.Pointer;

/** The kernels and what is built on them against plain Java in double precision, in a process with its own driver. */
public final class MlpOnHost {
    private static final int[][] PRODUCTS = {{1, 1, 1}, {33, 10, 65}, {16, 64, 32}, {70, 31, 3}};
    private static final double TOLERANCE = 1e-5;
    private static final float MOVED = 1e-3f;

    private final Random random = new Random(2026);
    private final UserStream stream = new UserStream();
    private final MlpKernels kernels = new MlpKernels(stream);
    private final Streams streams = new Streams(Device.cuda(0), stream, new UserStream());

    private MlpOnHost() {}

    public static void main(String[] args) {
        io.hvd.cuda.CudaDevice.open(0).close();
        try (Gpu gpu = new Gpu(0)) {
            MlpOnHost checks = new MlpOnHost();
            checks.products();
            checks.biases();
            checks.loss();
            checks.steps();
            checks.gradients();
            checks.state();
            checks.zeros();
        }
    }

    private void products() {
        for (Turned turned : Turned.values()) {
            double worst = 0;
            for (int[] size : PRODUCTS) {
                worst = Math.max(worst, product(turned, new Extent(size[0], size[1], size[2])));
            }
            say("product " + turned, worst, TOLERANCE);
        }
    }

    private double product(Turned turned, Extent extent) {
        float[] left = values(extent.rows() * extent.inner());
        float[] right = values(extent.inner() * extent.columns());
        DeviceArray result = new DeviceArray(4L * extent.rows() * extent.columns());
        kernels.multiply(turned, onGpu(left), onGpu(right), result, extent);
        double worst = 0;
        float[] found = read(result);
        for (int row = 0; row < extent.rows(); row++) {
            for (int column = 0; column < extent.columns(); column++) {
                double sum = 0;
                for (int k = 0; k < extent.inner(); k++) {
                    int a = turned == Turned.LEFT ? k * extent.rows() + row : row * extent.inner() + k;
                    int b = turned == Turned.RIGHT ? column * extent.inner() + k : k * extent.columns() + column;
                    sum += (double) left[a] * right[b];
                }
                worst = Math.max(worst, Math.abs(sum - found[row * extent.columns() + column]));
            }
        }
        return worst;
    }

    private void biases() {
        int rows = 37;
        int columns = 45;
        float[] outputs = values(rows * columns);
        float[] bias = values(columns);
        DeviceArray plain = onGpu(outputs);
        DeviceArray relu = onGpu(outputs);
        DeviceArray gradient = onGpu(outputs);
        DeviceArray sums = new DeviceArray(4L * columns);
        kernels.addBias(false, plain, onGpu(bias), rows, columns);
        kernels.addBias(true, relu, onGpu(bias), rows, columns);
        kernels.biasGradient(gradient, sums, rows, columns);
        double[] wanted = new double[columns];
        double[] worst = new double[3];
        for (int i = 0; i < outputs.length; i++) {
            double sum = outputs[i] + bias[i % columns];
            wanted[i % columns] += outputs[i];
            worst[0] = Math.max(worst[0], Math.abs(sum - read(plain, i)));
            worst[1] = Math.max(worst[1], Math.abs(Math.max(0, sum) - read(relu, i)));
        }
        float[] found = read(sums);
        for (int i = 0; i < columns; i++) {
            worst[2] = Math.max(worst[2], Math.abs(wanted[i] - found[i]));
        }
        say("bias", worst[0], TOLERANCE);
        say("bias with relu", worst[1], TOLERANCE);
        say("gradient of bias", worst[2], TOLERANCE);
        kernels.reluBackward(gradient, relu, outputs.length);
        float[] forward = read(relu);
        float[] back = read(gradient);
        double wrong = 0;
        for (int i = 0; i < outputs.length; i++) {
            wrong += back[i] == (forward[i] > 0 ? outputs[i] : 0) ? 0 : 1;
        }
        say("relu backward", wrong, 0);
    }

    private void loss() {
        int rows = 300;
        int classes = 7;
        float[] outputs = values(rows * classes);
        outputs[3] = 200; // its exponential is no float
        int[] labels = random.ints(rows, 0, classes).toArray();
        DeviceArray gradient = new DeviceArray(4L * rows * classes);
        DeviceArray losses = new DeviceArray(4L * rows);
        DeviceArray hits = new DeviceArray(4L * rows);
        DeviceArray onGpu = new DeviceArray(4L * rows);
        onGpu.write(Pointer.to(labels), onGpu.bytes());
        kernels.softmaxLoss(onGpu(outputs), onGpu, gradient, losses, hits, rows, classes, 0.25f);
        float[] foundLoss = read(losses);
        float[] foundGradient = read(gradient);
        int[] foundHits = new int[rows];
        hits.read(Pointer.to(foundHits), hits.bytes());
        double[] worst = new double[3];
        for (int row = 0; row < rows; row++) {
            float[] mine = Arrays.copyOfRange(outputs, row * classes, (row + 1) * classes);
            double[] share = softmax(mine);
            worst[0] =
                    Math.max(worst[0], Math.abs(-Math.log(share[labels[row]]) - foundLoss[row]) / (1 + foundLoss[row]));
            for (int i = 0; i < classes; i++) {
                double wanted = 0.25 * (share[i] - (i == labels[row] ? 1 : 0));
                worst[1] = Math.max(worst[1], Math.abs(wanted - foundGradient[row * classes + i]));
                worst[2] += mine[i] > mine[labels[row]] && foundHits[row] == 1 ? 1 : 0;
            }
        }
        say("loss", worst[0], TOLERANCE);
        say("gradient of loss", worst[1], TOLERANCE);
        say("hits", worst[2] + (Arrays.stream(foundHits).sum() == 0 ? 1 : 0), 0);
    }

    private static double[] softmax(float[] outputs) {
        double largest = 0;
        for (float output : outputs) {
            largest = Math.max(largest, output);
        }
        double[] shares = new double[outputs.length];
        double sum = 0;
        for (int i = 0; i < shares.length; i++) {
            shares[i] = Math.exp(outputs[i] - largest);
            sum += shares[i];
        }
        for (int i = 0; i < shares.length; i++) {
            shares[i] /= sum;
        }
        return shares;
    }

    /** Five steps beside the optimizers on Java arrays. */
    private void steps() {
        float[] start = values(1000);
        compare("sgd", start, (own, all) -> new DeviceSgd(kernels, streams, own, 0.1, 0), all -> new Sgd(all, 0.1));
        compare(
                "momentum",
                start,
                (own, all) -> new DeviceSgd(kernels, streams, own, 0.1, 0.9),
                all -> new Sgd(all, 0.1, 0.9, 0));
        compare("adam", start, (own, all) -> new DeviceAdam(kernels, streams, own, 0.1), all -> new Adam(all, 0.1));
    }

    private interface OnGpu {
        Optimizer of(List<DeviceParameter> own, Streams streams);
    }

    private interface OnHost {
        Optimizer of(ArrayParameters parameters);
    }

    private void compare(String name, float[] start, OnGpu gpu, OnHost host) {
        DeviceParameter onGpu = DeviceParameter.of("w", Shape.of(start.length), start);
        float[] value = start.clone();
        float[] gradient = new float[start.length];
        Optimizer mine = gpu.of(List.of(onGpu), streams);
        Optimizer reference = host.of(new ArrayParameters().add("w", value, gradient));
        for (int step = 0; step < 5; step++) {
            float[] next = values(start.length);
            System.arraycopy(next, 0, gradient, 0, next.length);
            stream.await();
            onGpu.gradient().write(Pointer.to(next), onGpu.gradient().bytes());
            mine.step();
            reference.step();
        }
        say(name, largestDifference(value, read(onGpu.value())), TOLERANCE);
    }

    /** Finite differences of the whole net's loss by every parameter. */
    private void gradients() {
        int rows = 6;
        try (MlpBatch batch = new MlpBatch(stream, rows);
                DeviceArray pixels = new DeviceArray(4L * rows * 5);
                DeviceArray labels = new DeviceArray(4L * rows);
                Mlp model = new Mlp(kernels, List.of(5, 9, 8, 3), rows, new Random(7))) {
            pixels.write(Pointer.to(values(rows * 5)), pixels.bytes());
            labels.write(Pointer.to(new int[] {0, 1, 2, 0, 1, 2}), labels.bytes());
            batch.use(new DeviceBatch(
                    rows,
                    List.of(
                            pixels.tensor(Device.cuda(0), DType.FLOAT32, stream.handle(), Shape.of(rows, 5)),
                            labels.tensor(Device.cuda(0), DType.INT32, stream.handle(), Shape.of(rows)))));
            model.forward(batch);
            model.loss(batch, 1f);
            List<String> order = new ArrayList<>();
            model.backward(batch, parameter -> order.add(parameter.name()));
            stream.await();
            for (DeviceParameter parameter : model.parameters()) {
                say("finite differences of " + parameter.name(), worstSlope(model, batch, parameter), 5e-3);
            }
            System.out.println("ORDER " + order);
        }
    }

    /** Where ReLU bends between the two moved points, the slope of one side is the gradient. */
    private double worstSlope(Mlp model, MlpBatch batch, DeviceParameter parameter) {
        float[] values = parameter.read();
        float[] gradient = read(parameter.gradient());
        double worst = 0;
        for (int i = 0; i < values.length; i++) {
            double here = loss(model, batch, parameter, values, i, 0);
            double above = (loss(model, batch, parameter, values, i, MOVED) - here) / MOVED;
            double below = (here - loss(model, batch, parameter, values, i, -MOVED)) / MOVED;
            double nearest = Math.min(Math.abs(above - gradient[i]), Math.abs(below - gradient[i]));
            worst = Math.max(worst, nearest / (1 + Math.abs(gradient[i])));
        }
        parameter.value().write(Pointer.to(values), parameter.value().bytes());
        return worst;
    }

    private static double loss(
            Mlp model, MlpBatch batch, DeviceParameter parameter, float[] values, int index, float moved) {
        float[] other = values.clone();
        other[index] += moved;
        parameter.value().write(Pointer.to(other), parameter.value().bytes());
        model.forward(batch);
        model.loss(batch, 0);
        return batch.outcome().lossSum();
    }

    /** An optimizer that takes over another one's state goes on as that one does. */
    private void state() {
        float[] start = values(100);
        DeviceParameter first = DeviceParameter.of("w", Shape.of(100), start);
        DeviceAdam one = new DeviceAdam(kernels, streams, List.of(first), 0.1);
        first.gradient().write(Pointer.to(values(100)), 400);
        one.step();
        DeviceParameter second = DeviceParameter.of("w", Shape.of(100), read(first.value()));
        DeviceAdam two = new DeviceAdam(kernels, streams, List.of(second), 0.7);
        two.loadNamedState(one.namedState());
        float[] next = values(100);
        for (DeviceParameter each : List.of(first, second)) {
            each.gradient().write(Pointer.to(next), 400);
        }
        one.step();
        two.step();
        say("state", largestDifference(read(first.value()), read(second.value())), 0);
        byte[] ofSgd = new DeviceSgd(kernels, streams, List.of(second), 0.1, 0.9).saveState();
        for (byte[] foreign : List.of(new byte[20], ofSgd)) {
            try {
                two.loadNamedState(NamedState.ofBytes(foreign));
            } catch (HvdException e) {
                System.out.println("REFUSED " + e.getMessage());
            }
        }
    }

    /** After a step that was left out an average may still come in; the zeros are queued behind it. */
    private void zeros() {
        DeviceParameter parameter = DeviceParameter.of("w", Shape.of(100), values(100));
        DeviceSgd optimizer = new DeviceSgd(kernels, streams, List.of(parameter), 0.1, 0);
        parameter.gradient().fillAsync(1, streams.exchange().queue());
        optimizer.zeroGradients();
        stream.await();
        streams.exchange().await();
        say("zeros after an average", largestDifference(new float[100], read(parameter.gradient())), 0);
    }

    private float[] values(int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static DeviceArray onGpu(float[] values) {
        DeviceArray array = new DeviceArray(4L * values.length);
        array.write(Pointer.to(values), array.bytes());
        return array;
    }

    private float[] read(DeviceArray array) {
        stream.await();
        return DeviceParameter.read(array);
    }

    private float read(DeviceArray array, int index) {
        return read(array)[index];
    }

    private static double largestDifference(float[] one, float[] other) {
        double worst = 0;
        for (int i = 0; i < one.length; i++) {
            worst = Math.max(worst, Math.abs(one[i] - other[i]));
        }
        return worst;
    }

    private static void say(String what, double difference, double allowed) {
        System.out.println("CHECK " + what + ": " + (difference <= allowed ? "right" : "off by " + difference));
    }
}
