package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import io.hvd.optimizer.arrays.ArrayState;
import io.hvd.optimizer.arrays.ArrayTensors;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The common part of the optimizers on plain arrays: parameters, learning rate and the layout of their state. */
abstract sealed class ArrayOptimizer implements Optimizer
        permits Adadelta, Adagrad, Lars, MomentsOptimizer, RmsProp, Sgd {
    private final ArrayParameters parameters;
    private double learningRate;
    private long steps;
    /** For each parameter the steps before its buffers began anew, as those of a lost rank do; usually 0. */
    private final long[] late;

    ArrayOptimizer(ArrayParameters parameters, double learningRate) {
        this.parameters = parameters;
        this.late = new long[parameters.count()];
        learningRate(learningRate);
    }

    final ArrayParameters arrays() {
        return parameters;
    }

    @Override
    public final List<Parameter> parameters() {
        return parameters.list();
    }

    @Override
    public final double learningRate() {
        return learningRate;
    }

    @Override
    public final void learningRate(double rate) {
        learningRate = ArrayConstants.requireRate(getClass().getSimpleName(), rate);
    }

    @Override
    public final void zeroGradients() {
        for (int i = 0; i < parameters.count(); i++) {
            Arrays.fill(parameters.gradient(i), 0f);
        }
    }

    @Override
    public final void step() {
        steps++;
        for (int i = 0; i < parameters.count(); i++) {
            update(i, parameters.value(i), parameters.gradient(i), steps - late[i]);
        }
    }

    @Override
    public final Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>(Optimizer.super.settings());
        constants().forEach((name, value) -> settings.put(name, Double.toString(value)));
        return settings;
    }

    @Override
    public final byte[] saveState() {
        return state().headed(numbers());
    }

    @Override
    public final void loadState(byte[] state) {
        numbers(state().numbers(state));
    }

    @Override
    public final NamedState namedState() {
        return named().state(new ArrayTensors.Head(steps, learningRate, late));
    }

    @Override
    public final void loadNamedState(NamedState state) {
        if (state.bytes().isPresent()) {
            Optimizer.super.loadNamedState(state);
            return;
        }
        ArrayTensors named = named();
        ArrayTensors.Head head = named.load(state);
        steps = head.steps();
        learningRate = head.rate();
        System.arraycopy(head.late(), 0, late, 0, late.length);
    }

    private ArrayTensors named() {
        return new ArrayTensors(state(), buffers());
    }

    /** Its kind, how far it is and its constants. */
    @Override
    public final String toString() {
        return getClass().getSimpleName() + "(" + parameters.count() + " parameter(s), learning rate " + learningRate
                + ", " + new TreeMap<>(constants()) + ", " + steps + " step(s) made)";
    }

    private ArrayState state() {
        return stateOver(parameters());
    }

    /** The form of this kind of optimizer's state over other parameters. */
    final ArrayState stateOver(List<Parameter> others) {
        return ArrayState.of(getClass().getSimpleName(), kinds(), others);
    }

    /** Steps done, then the learning rate, then every buffer, as {@link ArrayState} says; what began anew follows only where something did. */
    private byte[] numbers() {
        boolean tail = Arrays.stream(late).anyMatch(before -> before != 0);
        ByteBuffer bytes = ByteBuffer.allocate(state().numbersLength(tail));
        bytes.putLong(steps).putDouble(learningRate);
        for (float[] buffer : buffers()) {
            bytes.asFloatBuffer().put(buffer);
            bytes.position(bytes.position() + Float.BYTES * buffer.length);
        }
        if (tail) {
            bytes.asLongBuffer().put(late);
        }
        return bytes.array();
    }

    private void numbers(byte[] numbers) {
        ByteBuffer bytes = ByteBuffer.wrap(numbers);
        steps = bytes.getLong();
        learningRate = bytes.getDouble();
        for (float[] buffer : buffers()) {
            bytes.asFloatBuffer().get(buffer);
            bytes.position(bytes.position() + Float.BYTES * buffer.length);
        }
        Arrays.fill(late, 0);
        if (bytes.hasRemaining()) {
            bytes.asLongBuffer().get(late);
        }
    }

    /** Moves one parameter; {@code step} counts from 1, since its buffers began. */
    abstract void update(int index, float[] value, float[] gradient, long step);

    /** The values that the constructor has set, by name. */
    abstract Map<String, Double> constants();

    /** The buffers that it keeps for each parameter, in the order of {@link #buffers}. */
    abstract List<ArrayBuffer> kinds();

    /** The optimizer's own arrays, always in the same order: the first kind for all parameters, then the next kind. */
    abstract List<float[]> buffers();

    /** One array of zeros as long as each parameter. */
    static float[][] zerosLike(ArrayParameters parameters) {
        float[][] zeros = new float[parameters.count()][];
        for (int i = 0; i < zeros.length; i++) {
            zeros[i] = new float[parameters.value(i).length];
        }
        return zeros;
    }
}
