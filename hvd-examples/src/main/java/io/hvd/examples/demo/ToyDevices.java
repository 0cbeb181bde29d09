package io.hvd.examples.demo;

import io.hvd.HvdContext;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.training.TorchDevice;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.global.torch;

/**
 * The devices of the model's two layers on this rank: one for both, or with {@code --part model-parallel} two, of which local
 * rank n has numbers 2n and 2n+1.
 *
 * @param words where the layers are
 */
record ToyDevices(Device first, Device second, String words) {
    private static final int NO_GPU = 2;

    static ToyDevices of(HvdContext hvd, ToyOptions options) throws ExampleFailure {
        Device own = TorchDevice.of(hvd, options.cuda()).device();
        if (!options.part().equals(ToyOptions.MODEL_PARALLEL)) {
            return new ToyDevices(own, own, "both layers on " + (options.cuda() ? hvd.device() : "the CPU"));
        }
        return options.cuda() ? gpus(hvd) : simulated(hvd, own);
    }

    private static ToyDevices simulated(HvdContext hvd, Device cpu) {
        int first = 2 * hvd.localRank();
        return new ToyDevices(
                cpu,
                cpu,
                "net1 on device " + first + " and net2 on device " + (first + 1)
                        + ", both simulated: the CPU takes the part of both, with the code for two GPUs");
    }

    private static ToyDevices gpus(HvdContext hvd) throws ExampleFailure {
        new Demo(ToyExample.NAME, hvd)
                .requireNone(
                        hvd.devices().size() == 2
                                ? ""
                                : "found the GPUs " + hvd.devices() + ", expected two for the model's two layers");
        io.hvd.tensor.Device first = hvd.devices().get(0);
        io.hvd.tensor.Device second = hvd.devices().get(1);
        return new ToyDevices(cuda(first), cuda(second), "net1 on " + first + " and net2 on " + second);
    }

    private static Device cuda(io.hvd.tensor.Device gpu) {
        return new Device(torch.DeviceType.CUDA, (byte) gpu.index());
    }

    @Override
    public String toString() {
        return words;
    }
}
