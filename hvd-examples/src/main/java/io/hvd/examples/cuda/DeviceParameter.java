package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import jcuda.Pointer;

/** A trainable matrix or vector of floats in GPU memory, and its gradient there. */
record DeviceParameter(String name, Shape shape, DeviceArray value, DeviceArray gradient) implements AutoCloseable {
    static DeviceParameter of(String name, Shape shape, float[] values) {
        DeviceArray value = new DeviceArray(4L * values.length);
        value.write(Pointer.to(values), value.bytes());
        DeviceArray gradient = new DeviceArray(value.bytes());
        return new DeviceParameter(name, shape, value, gradient);
    }

    long count() {
        return value.bytes() / 4;
    }

    /**
     * The parameter in hvd's form.
     *
     * @param compute the stream on which values are used and updated
     * @param exchange the stream on which a gradient is complete, and on which its average arrives
     */
    Parameter forHvd(Device device, UserStream compute, UserStream exchange) {
        return new Parameter(
                name,
                value.tensor(device, DType.FLOAT32, compute.handle(), shape),
                gradient.tensor(device, DType.FLOAT32, exchange.handle(), shape));
    }

    /** Copies the values to the host; the work that writes them must have ended. */
    float[] read() {
        return read(value);
    }

    static float[] read(DeviceArray array) {
        float[] values = new float[Math.toIntExact(array.bytes() / 4)];
        array.read(Pointer.to(values), array.bytes());
        return values;
    }

    @Override
    public void close() {
        value.close();
        gradient.close();
    }
}
