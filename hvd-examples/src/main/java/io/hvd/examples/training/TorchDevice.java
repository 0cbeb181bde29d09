package io.hvd.examples.training;

import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.examples.Flags;
import io.hvd.optimizer.torch.TorchRuntime;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The device of a rank's model and batches.
 *
 * @param device LibTorch's name for it
 */
public record TorchDevice(Device device) {
    private static final String FLAG = "device";
    private static final String NO_CUDA = "no-cuda";
    private static final String CUDA = "cuda";

    public static Option flag() {
        return Flags.valued(FLAG, "cpu (default), or cuda for this rank's GPU, which needs LibTorch's build for GPUs");
    }

    /** The flag by which Horovod's examples are kept from GPUs. It only says what is the default here. */
    public static Option noCudaFlag() {
        return Option.builder()
                .longOpt(NO_CUDA)
                .desc("train on the CPU, as without --device cuda")
                .get();
    }

    /** Whether the flag asks for GPUs. @throws ParseException also if {@link #noCudaFlag} asks for the contrary */
    public static boolean isCuda(CommandLine line) throws ParseException {
        boolean cuda = Flags.oneOf(line, FLAG, List.of("cpu", CUDA)).equals(CUDA);
        if (cuda && line.hasOption(NO_CUDA)) {
            throw new ParseException("--" + NO_CUDA + " and --" + FLAG + " " + CUDA + " exclude each other");
        }
        return cuda;
    }

    /**
     * The device of this rank.
     *
     * @throws HvdException if LibTorch cannot be loaded, or a GPU is asked for and this rank has none or LibTorch sees none
     */
    public static TorchDevice of(HvdContext hvd, boolean cuda) {
        TorchRuntime.load();
        if (!cuda) {
            return new TorchDevice(new Device(torch.DeviceType.CPU));
        }
        TorchRuntime.whyNoGpu().ifPresent(why -> {
            throw refused(hvd, why);
        });
        if (hvd.device().isCpu()) {
            throw refused(
                    hvd,
                    "this rank has no GPU; horovodrun --check-build says why, unless HVD_BACKEND=mpi asked for none");
        }
        return new TorchDevice(
                new Device(torch.DeviceType.CUDA, (byte) hvd.device().index()));
    }

    private static HvdException refused(HvdContext hvd, String why) {
        return new HvdException(
                ErrorId.NO_DEVICE,
                "--device cuda on rank " + hvd.rank() + " (" + hvd.hosts().get(hvd.rank()) + "): " + why);
    }

    /** hvd's name for the device, which is that of this rank. */
    public io.hvd.tensor.Device of(HvdContext hvd) {
        return device.is_cpu() ? io.hvd.tensor.Device.CPU : hvd.device();
    }

    /** Moves a model's parameters and buffers to the device. */
    public <M extends Module> M onto(M model) {
        model.to(device, false);
        return model;
    }

    /** Moves a tensor to the device; returns the tensor itself if it is there already. */
    public Tensor onto(Tensor tensor) {
        return device.is_cpu() ? tensor : tensor.to(device, tensor.scalar_type());
    }
}
