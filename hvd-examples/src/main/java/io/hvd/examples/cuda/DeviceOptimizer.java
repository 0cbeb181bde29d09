package io.hvd.examples.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateSize;
import io.hvd.tensor.Device;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import jcuda.Pointer;

/**
 * What SGD and Adam on GPU memory share. Steps are queued on the compute stream, behind the averages that come in on the
 * exchange stream; who changes an average before the step, to clip it, queues that on the exchange stream.
 */
abstract sealed class DeviceOptimizer implements Optimizer, AutoCloseable permits DeviceSgd, DeviceAdam {
    /** Where this rank's work is queued: kernels on one stream, averages on the other. */
    record Streams(Device device, UserStream compute, UserStream exchange) {}

    private final Streams streams;
    private final List<DeviceParameter> parameters;
    private final List<Parameter> forHvd;
    private final List<DeviceArray> buffers = new ArrayList<>();
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
        // Averages that no step has used may still be on their way.
        streams.compute.follow(streams.exchange);
        parameters.forEach(parameter -> parameter.gradient().fillAsync(0, streams.compute.queue()));
    }

    /** A gradient is queued on the compute stream: from here on its average may be asked for. */
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

    /** Steps done, then the learning rate, then every buffer. */
    @Override
    public final byte[] saveState() {
        streams.compute.await();
        ByteBuffer bytes = ByteBuffer.allocate(stateBytes());
        bytes.putLong(steps).putDouble(learningRate);
        for (DeviceArray buffer : buffers) {
            for (float value : DeviceParameter.read(buffer)) {
                bytes.putFloat(value);
            }
        }
        return bytes.array();
    }

    @Override
    public final void loadState(byte[] state) {
        if (state.length != stateBytes()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state has " + state.length + " bytes, " + getClass().getSimpleName() + " over "
                            + parameters.size() + " parameters needs " + stateBytes());
        }
        streams.compute.await();
        ByteBuffer bytes = ByteBuffer.wrap(state);
        steps = bytes.getLong();
        learningRate = bytes.getDouble();
        FloatBuffer values = bytes.asFloatBuffer();
        for (DeviceArray buffer : buffers) {
            float[] loaded = new float[(int) (buffer.bytes() / 4)];
            values.get(loaded);
            buffer.write(Pointer.to(loaded), buffer.bytes());
        }
    }

    /** Queues the step of one parameter; {@code step} counts from 1. */
    abstract void update(int index, DeviceParameter parameter, long step);

    /** One buffer of zeros as long as each parameter, part of the state. */
    final List<DeviceArray> newBuffers() {
        List<DeviceArray> zeros = new ArrayList<>();
        for (DeviceParameter parameter : parameters) {
            DeviceArray buffer = new DeviceArray(parameter.value().bytes());
            buffer.fillAsync(0, streams.compute.queue());
            zeros.add(buffer);
        }
        buffers.addAll(zeros);
        return zeros;
    }

    private int stateBytes() {
        return StateSize.require(
                getClass().getSimpleName(),
                16 + buffers.stream().mapToLong(DeviceArray::bytes).sum());
    }

    /** Frees its buffers; parameters and streams belong to others. */
    @Override
    public final void close() {
        buffers.forEach(DeviceArray::close);
    }
}
