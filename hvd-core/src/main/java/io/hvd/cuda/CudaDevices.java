package io.hvd.cuda;

import static io.hvd.cuda.DriverCode.check;
import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetCount;
import static jcuda.driver.JCudaDriver.cuDeviceGetName;
import static jcuda.driver.JCudaDriver.cuDeviceGetPCIBusId;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuInit;

import io.hvd.spi.GpuDriver.Gpu;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUresult;

/**
 * The CUDA devices that the driver shows, read through JCuda. Other classes use this class only if there may be a
 * driver, because JCuda may be missing.
 */
final class CudaDevices {
    /** Room for the longest form, {@code 00000000:65:00.0}, and a terminating zero. */
    private static final int PCI_ID_LENGTH = 32;

    private static final int NAME_LENGTH = 256;

    private CudaDevices() {}

    /** Throws LinkageError if JCuda, its natives or libcuda.so.1 are missing. */
    static CudaPresence look() {
        JCudaLibraries.load();
        int started = DriverCode.of(() -> cuInit(0));
        if (started != CUresult.CUDA_SUCCESS && started != CUresult.CUDA_ERROR_NO_DEVICE) {
            return CudaPresence.none("cuInit answers " + DriverCode.explain(started));
        }
        int count = started == CUresult.CUDA_SUCCESS ? count() : 0;
        if (count == 0) {
            return CudaPresence.none("CUDA shows no device to this process");
        }
        List<Gpu> gpus = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            gpus.add(describe(index));
        }
        return new CudaPresence(List.copyOf(gpus), "");
    }

    /**
     * Makes a GPU's primary context the calling thread's current one. The CUDA runtime's cudaSetDevice does the same,
     * so code that uses the runtime finds this context. The context lives as long as the process.
     */
    static void select(int index) {
        check("cuInit", () -> cuInit(0));
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain(" + index + ")", () -> cuDevicePrimaryCtxRetain(context, device(index)));
        check("cuCtxSetCurrent", () -> cuCtxSetCurrent(context));
    }

    private static int count() {
        int[] count = new int[1];
        check("cuDeviceGetCount", () -> cuDeviceGetCount(count));
        return count[0];
    }

    private static Gpu describe(int index) {
        CUdevice device = device(index);
        byte[] name = new byte[NAME_LENGTH];
        check("cuDeviceGetName(" + index + ")", () -> cuDeviceGetName(name, NAME_LENGTH, device));
        String[] pciId = new String[1];
        check("cuDeviceGetPCIBusId(" + index + ")", () -> cuDeviceGetPCIBusId(pciId, PCI_ID_LENGTH, device));
        return new Gpu(index, upToZero(name), pciId[0].trim());
    }

    private static CUdevice device(int index) {
        CUdevice device = new CUdevice();
        check("cuDeviceGet(" + index + ")", () -> cuDeviceGet(device, index));
        return device;
    }

    private static String upToZero(byte[] name) {
        String text = new String(name, StandardCharsets.UTF_8);
        int end = text.indexOf('\0');
        return (end < 0 ? text : text.substring(0, end)).trim();
    }
}
