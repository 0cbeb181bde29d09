package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import jcuda.Pointer;

/**
 * The common part of SGD and Adam in GPU memory. Steps are queued on the compute stream and wait for the averages on
 * the exchange stream. A program that changes an average before the step, for instance to clip it, queues that work on
 * the exchange stream.
 */
abstract sealed class DeviceOptimizer implements Optimizer, AutoCloseable permits DeviceSgd, DeviceAdam {
    /** The streams of this rank: kernels are queued on one, averages on the other. */
    record Streams(Device device, UserStream compute, UserStream exchange) {}

    private static final String STEPS = "steps";
    private static final String RATE = "learning_rate";

    private final Streams streams;
    private final List<DeviceParameter> parameters;
    private final List<Parameter> forHvd;
    private final Map<String, DeviceArray> buffers = new LinkedHashMap<>();
    private double learningRate;
    private long steps;

    DeviceOptimizer(Streams streams, List<DeviceParameter> parameters, double learningRate) {
        this.streams = streams;
        this.parameters = parameters;
        this.learningRate = learningRate;
        this.forHvd = parameters.stream()
                .map(parameter -> parameter.forHvd(streams.device, streams.compute, streams.exchange))
                .toList();
    }

    @Override
    public final List<Parameter> parameters() {
        return forHvd;
    }

    @Override
    public final double learningRate() {
        return learningRate;
    }

    @Override
    public final void learningRate(double rate) {
        learningRate = rate;
    }

    @Override
    public final void zeroGradients() {
        // Averages that no step has used may still be under way.
        streams.compute.follow(streams.exchange);
        parameters.forEach(parameter -> parameter.gradient().fillAsync(0, streams.compute.queue()));
    }

    /**
     * Makes the exchange stream wait for the compute stream, on which a gradient is queued; it can then be averaged.
     */
    final void handOver() {
        streams.exchange.follow(streams.compute);
    }

    @Override
    public final void step() {
        streams.compute.follow(streams.exchange);
        steps++;
        for (int i = 0; i < parameters.size(); i++) {
            update(i, parameters.get(i), steps);
        }
    }

    /** The state: whose it is, the number of steps, the learning rate, and every buffer. */
    @Override
    public final byte[] saveState() {
        streams.compute.await();
        ByteBuffer bytes = ByteBuffer.allocate(stateBytes());
        bytes.putLong(steps).putDouble(learningRate);
        for (DeviceArray buffer : buffers.values()) {
            for (float value : DeviceParameter.read(buffer)) {
                bytes.putFloat(value);
            }
        }
        return owner().head(StateOwner.Mark.OWN, bytes.array());
    }

    private StateOwner owner() {
        int kinds = buffers.size() / parameters.size();
        return StateOwner.of(getClass().getSimpleName() + " with " + kinds + " buffers of each parameter", forHvd);
    }

    @Override
    public final void loadState(byte[] state) {
        byte[] numbers = owner().rest(StateOwner.Mark.OWN, state);
        if (numbers.length != stateBytes()) {
            throw StateOwner.mismatch("its numbers have " + numbers.length + " bytes, expected " + stateBytes());
        }
        streams.compute.await();
        ByteBuffer bytes = ByteBuffer.wrap(numbers);
        steps = bytes.getLong();
        learningRate = bytes.getDouble();
        FloatBuffer values = bytes.asFloatBuffer();
        for (DeviceArray buffer : buffers.values()) {
            float[] loaded = new float[(int) (buffer.bytes() / 4)];
            values.get(loaded);
            buffer.write(Pointer.to(loaded), buffer.bytes());
        }
    }

    /** Copies of the buffers in the host's memory. */
    @Override
    public final NamedState namedState() {
        streams.compute.await();
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        buffers.forEach((name, buffer) ->
                tensors.put(name, Tensor.wrap(DeviceParameter.read(buffer), DType.FLOAT32, shapeOf(name))));
        return new NamedState(
                tensors,
                new TreeMap<>(Map.of(
                        NamedState.KIND,
                        owner().kind(),
                        STEPS,
                        Long.toString(steps),
                        RATE,
                        Double.toString(learningRate))));
    }

    private Shape shapeOf(String buffer) {
        return parameters.stream()
                .filter(parameter -> parameter.name().equals(NamedState.parameter(buffer)))
                .findFirst()
                .orElseThrow()
                .shape();
    }

    @Override
    public final void loadNamedState(NamedState state) {
        if (state.bytes().isPresent()) {
            loadState(state.bytes().get());
            return;
        }
        if (!state.word(NamedState.KIND).equals(owner().kind())) {
            throw StateOwner.mismatch(
                    "it is of \"" + state.word(NamedState.KIND) + "\", expected \"" + owner().kind() + "\"");
        }
        state.requireLike(namedState());
        long made = state.whole(STEPS);
        learningRate = state.number(RATE);
        steps = made;
        buffers.forEach((name, buffer) ->
                buffer.write(Pointer.to(state.tensors().get(name).toFloatArray()), buffer.bytes()));
    }

    /** Queues the step of one parameter. @param step number of the step, from 1 */
    abstract void update(int index, DeviceParameter parameter, long step);

    /** Makes a buffer of zeros for each parameter, of the same size, as part of the state. @param name as torch calls it */
    final List<DeviceArray> newBuffers(String name) {
        List<DeviceArray> zeros = new ArrayList<>();
        for (DeviceParameter parameter : parameters) {
            DeviceArray buffer = new DeviceArray(parameter.value().bytes());
            buffer.fillAsync(0, streams.compute.queue());
            zeros.add(buffer);
            buffers.put(NamedState.name(name, parameter.name()), buffer);
        }
        return zeros;
    }

    private int stateBytes() {
        return StateSize.require(
                getClass().getSimpleName(),
                16 + buffers.values().stream().mapToLong(DeviceArray::bytes).sum());
    }

    /** Frees the optimizer's buffers; parameters and streams belong to others. */
    @Override
    public final void close() {
        buffers.values().forEach(DeviceArray::close);
    }
}
