package io.hvd.transport.nccl;

import static jcuda.driver.JCudaDriver.cuCtxGetDevice;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoH;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoD;
import static jcuda.driver.JCudaDriver.setExceptionsEnabled;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.tensor.cuda.CudaTensors;
import java.util.Arrays;
import jcuda.Pointer;
import jcuda.Sizeof;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;

/** Ranks as threads, each of which sums its numbers on the GPU that it finds to be its thread's current one. */
public final class SpawnOnGpusProgram {
    private static final int COUNT = 1000;

    private SpawnOnGpusProgram() {}

    /** @param args number of threads, and of GPUs for each if that is not one */
    public static void main(String[] args) {
        setExceptionsEnabled(true);
        try {
            InitOptions options = args.length == 1
                    ? InitOptions.standard()
                    : InitOptions.standard().withGpusPerRank(Integer.parseInt(args[1]));
            Hvd.spawn(Integer.parseInt(args[0]), options, hvd -> {
                System.out.println("RANK " + hvd.rank() + " of " + hvd.size() + " on " + hvd.device() + ": "
                        + (hvd.device().isCpu() ? onCpu(hvd) : onGpu(hvd)));
                return null;
            });
        } catch (HvdException e) {
            System.out.println("REFUSED " + e.getMessage());
        }
    }

    private static String onCpu(HvdContext hvd) {
        Tensor sum = hvd.allreduce("sum", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum());
        return "sum " + sum.item();
    }

    private static String onGpu(HvdContext hvd) {
        CUdevice current = new CUdevice();
        cuCtxGetDevice(current);
        CUdevice assigned = new CUdevice();
        cuDeviceGet(assigned, hvd.device().index());
        float[] numbers = new float[COUNT];
        Arrays.fill(numbers, hvd.rank() + 1);
        CUdeviceptr memory = new CUdeviceptr();
        cuMemAlloc(memory, (long) COUNT * Sizeof.FLOAT);
        cuMemcpyHtoD(memory, Pointer.to(numbers), (long) COUNT * Sizeof.FLOAT);
        Tensor tensor = CudaTensors.of(memory, hvd.device(), DType.FLOAT32, Shape.of(COUNT));
        for (int round = 0; round < 15; round++) {
            hvd.allreduceInPlace("mean", tensor, AllreduceOptions.average());
        }
        hvd.allreduceInPlace("sum", tensor, AllreduceOptions.sum());
        cuMemcpyDtoH(Pointer.to(numbers), memory, (long) COUNT * Sizeof.FLOAT);
        return (current.equals(assigned) ? "current" : "not current") + ", sum " + numbers[COUNT - 1];
    }
}
