package io.hvd.examples.cuda;

import static io.hvd.cuda.DriverCode.check;

import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;

/** A GPU's primary context, which hvd and the CUDA runtime use too; it is current on the thread that opened it. */
final class Gpu implements AutoCloseable {
    private final CUdevice device = new CUdevice();

    /** @param index the number of the GPU among the visible ones, such as {@code hvd.device().index()} */
    Gpu(int index) {
        check("cuInit", JCudaDriver.cuInit(0));
        check("cuDeviceGet(" + index + ")", JCudaDriver.cuDeviceGet(device, index));
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain", JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
        check("cuCtxSetCurrent", JCudaDriver.cuCtxSetCurrent(context));
    }

    @Override
    public void close() {
        check("cuDevicePrimaryCtxRelease", JCudaDriver.cuDevicePrimaryCtxRelease(device));
    }
}
