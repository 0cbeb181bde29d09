package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.get_autocast_dtype;
import static org.bytedeco.pytorch.global.torch.is_autocast_enabled;

import io.hvd.optimizer.torch.module.ReplicaThreads;
import io.hvd.tensor.Device;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The caller's autocast, of which a thread's state holds the switch, but not the type.
 *
 * @param onCpu null if it is switched off on the CPU
 * @param onGpu null if it is switched off on GPUs
 */
record CallersAutocast(ScalarType onCpu, ScalarType onGpu) implements ReplicaThreads.Setting {
    static CallersAutocast ofThisThread() {
        return new CallersAutocast(type(DeviceType.CPU), type(DeviceType.CUDA));
    }

    private static ScalarType type(DeviceType device) {
        return is_autocast_enabled(device) ? get_autocast_dtype(device).intern() : null;
    }

    @Override
    public AutoCloseable begin(Device device) {
        ScalarType type = device.isCpu() ? onCpu : onGpu;
        return type == null ? () -> {} : Autocast.to(type, device.isCpu() ? DeviceType.CPU : DeviceType.CUDA);
    }
}
