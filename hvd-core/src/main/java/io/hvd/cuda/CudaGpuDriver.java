package io.hvd.cuda;

import io.hvd.spi.GpuDriver;
import java.util.List;

/** The GPUs of this process as CUDA shows them; without CUDA or without JCuda there are none. */
public final class CudaGpuDriver implements GpuDriver {
    @Override
    public List<Gpu> visible() {
        return CudaPresence.ofThisProcess().gpus();
    }

    @Override
    public void select(int index) {
        CudaDevices.select(index);
    }
}
