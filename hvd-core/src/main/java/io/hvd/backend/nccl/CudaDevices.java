package io.hvd.backend.nccl;

import io.hvd.backend.cuda.JCudaLibraries;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver.Gpu;
import java.util.ArrayList;
import java.util.List;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaDeviceProp;
import jcuda.runtime.cudaError;

/** CUDA's devices through JCuda; touched only where a driver is loaded, since JCuda may be missing. */
final class CudaDevices {
    /** Longest form is {@code 00000000:65:00.0} and a terminating zero. */
    private static final int PCI_ID_LENGTH = 32;

    private CudaDevices() {}

    /** Throws LinkageError if JCuda or its natives are missing. */
    static CudaPresence look() {
        JCudaLibraries.load();
        int[] count = new int[1];
        int code = JCuda.cudaGetDeviceCount(count);
        if (code != cudaError.cudaSuccess) {
            return CudaPresence.none("cudaGetDeviceCount answers " + explain(code));
        }
        if (count[0] == 0) {
            return CudaPresence.none("CUDA shows no device to this process");
        }
        List<Gpu> gpus = new ArrayList<>();
        for (int index = 0; index < count[0]; index++) {
            gpus.add(describe(index));
        }
        return new CudaPresence(List.copyOf(gpus), "");
    }

    static void select(int index) {
        check("cudaSetDevice(" + index + ")", JCuda.cudaSetDevice(index));
    }

    private static Gpu describe(int index) {
        cudaDeviceProp properties = new cudaDeviceProp();
        check("cudaGetDeviceProperties(" + index + ")", JCuda.cudaGetDeviceProperties(properties, index));
        String[] pciId = new String[1];
        check("cudaDeviceGetPCIBusId(" + index + ")", JCuda.cudaDeviceGetPCIBusId(pciId, PCI_ID_LENGTH, index));
        return new Gpu(index, properties.getName().trim(), pciId[0].trim());
    }

    static void check(String call, int code) {
        if (code != cudaError.cudaSuccess) {
            throw new HvdException(ErrorId.BACK_END, call + " failed: " + explain(code));
        }
    }

    private static String explain(int code) {
        return JCuda.cudaGetErrorName(code) + " (" + code + "): " + JCuda.cudaGetErrorString(code);
    }
}
