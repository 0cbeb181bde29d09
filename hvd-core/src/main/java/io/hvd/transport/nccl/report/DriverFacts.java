package io.hvd.transport.nccl.report;

import static io.hvd.cuda.DriverCode.check;

import io.hvd.cuda.JCudaLibraries;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.transport.nccl.report.GpuFacts.Card;
import io.hvd.transport.nccl.report.GpuFacts.Library;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.JCudaDriver;

/**
 * Asks the CUDA driver about itself and about a GPU, without a context. Other classes use this class only if a driver
 * is loaded, because JCuda may be missing.
 */
final class DriverFacts {
    private DriverFacts() {}

    /** The driver's version; throws LinkageError if JCuda, its natives or the driver's library are missing. */
    static Library version() {
        JCudaLibraries.load();
        int[] version = new int[1];
        check("cuDriverGetVersion", () -> JCudaDriver.cuDriverGetVersion(version));
        return new Library(version[0], LoadedLibraries.path("libcuda.so"), "");
    }

    static Card card(Gpu gpu) {
        JCudaLibraries.load();
        check("cuInit", () -> JCudaDriver.cuInit(0));
        CUdevice device = new CUdevice();
        check("cuDeviceGet", () -> JCudaDriver.cuDeviceGet(device, gpu.index()));
        long[] bytes = new long[1];
        check("cuDeviceTotalMem", () -> JCudaDriver.cuDeviceTotalMem(bytes, device));
        int capability = 10 * attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                + attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        return new Card(gpu, capability, bytes[0], "");
    }

    private static int attribute(CUdevice device, int which) {
        int[] value = new int[1];
        check("cuDeviceGetAttribute", () -> JCudaDriver.cuDeviceGetAttribute(value, which, device));
        return value[0];
    }
}
