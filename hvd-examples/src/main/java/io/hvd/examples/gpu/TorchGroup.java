package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.Backend;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch_cuda;
import org.bytedeco.pytorch.global.torch_gloo;
import org.bytedeco.pytorch.global.torch_nccl;
import org.bytedeco.pytorch.nccl.ProcessGroupNCCL;

/** LibTorch's own process group for the ranks of this host: over NCCL on GPUs, over Gloo on the CPU. */
abstract sealed class TorchGroup implements AutoCloseable {
    /**
     * The store as its Java object owns it. The group gets a clone of it, which counts its references; this one would be
     * freed twice.
     */
    private final FileStore ownStore;

    private TorchGroup(HvdContext hvd) {
        String file =
                hvd.broadcastObject("gpu_check.torch.file", hvd.rank() == 0 ? newFile() : "", ObjectCodec.utf8(), 0);
        ownStore = new FileStore(file, hvd.size());
    }

    /** It goes with this process: a store that is closed waits for minutes for a file that another rank has deleted. */
    private static String newFile() {
        try {
            Path folder = Files.createTempDirectory("hvd-torch");
            Path file = folder.resolve("store");
            folder.toFile().deleteOnExit();
            file.toFile().deleteOnExit();
            return file.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Connects the ranks, which must all be on one host and call this at the same time. */
    static TorchGroup of(HvdContext hvd, boolean onHost) {
        return onHost ? new OverGloo(hvd) : new OverNccl(hvd);
    }

    final Store store() {
        return ownStore.clone();
    }

    abstract Backend group();

    /** The name of the library that LibTorch sums with, for the report. */
    abstract String name();

    /** The device on which tensors have to be. */
    abstract Device device();

    /** Sums over all ranks in place; returns when the result is there. */
    final void sum(Tensor tensor) {
        try (TensorVector one = new TensorVector(tensor);
                Work work = group().allreduce(one)) {
            work._wait();
        }
        awaitDevice();
    }

    abstract void awaitDevice();

    /** Ends this rank's part; the ranks must have met since the last sum. */
    @Override
    public void close() {
        group().close();
        ownStore.close();
    }

    private static final class OverGloo extends TorchGroup {
        private final ProcessGroupGloo group;

        OverGloo(HvdContext hvd) {
            super(hvd);
            Loader.load(torch_gloo.class);
            group = new ProcessGroupGloo(store(), hvd.rank(), hvd.size(), ProcessGroupGloo.Options.create_default());
        }

        @Override
        Backend group() {
            return group;
        }

        @Override
        String name() {
            return "Gloo";
        }

        @Override
        Device device() {
            return new Device(DeviceType.CPU);
        }

        @Override
        void awaitDevice() {
            // Gloo's wait returns when the sum is there.
        }
    }

    private static final class OverNccl extends TorchGroup {
        private final ProcessGroupNCCL group;
        private final byte gpu;

        OverNccl(HvdContext hvd) {
            super(hvd);
            Loader.load(torch_nccl.class);
            gpu = (byte) hvd.device().index();
            group = new ProcessGroupNCCL(store(), hvd.rank(), hvd.size());
        }

        @Override
        Backend group() {
            return group;
        }

        @Override
        String name() {
            return "NCCL " + torch_nccl.getNcclVersionNumber();
        }

        @Override
        Device device() {
            return new Device(DeviceType.CUDA, gpu);
        }

        /** NCCL's wait holds up the stream only. */
        @Override
        void awaitDevice() {
            try (CUDAStream stream = torch_cuda.getCurrentCUDAStream(gpu)) {
                stream.synchronize();
            }
        }

        @Override
        public void close() {
            group.shutdown();
            super.close();
        }
    }
}
