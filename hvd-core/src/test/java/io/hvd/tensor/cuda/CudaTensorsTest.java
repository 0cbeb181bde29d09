package io.hvd.tensor.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import java.lang.invoke.MethodHandles;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;
import org.junit.jupiter.api.Test;

class CudaTensorsTest {
    private static final long ADDRESS = 0x7f00_1234_5600L;

    /** The empty object, which now stands for what the number stands for, as if JCuda had filled it in. */
    private static <T extends NativePointerObject> T at(long number, T empty) throws ReflectiveOperationException {
        MethodHandles.privateLookupIn(NativePointerObject.class, MethodHandles.lookup())
                .findVarHandle(NativePointerObject.class, "nativePointer", long.class)
                .set(empty, number);
        return empty;
    }

    private static DeviceMemory memory(io.hvd.tensor.Tensor tensor) {
        return (DeviceMemory) tensor.memory();
    }

    @Test
    void aPointerIsItsAddressWithTheOffsetOfAPart() throws Exception {
        Pointer part = at(ADDRESS, new CUdeviceptr()).withByteOffset(64);
        DeviceMemory memory = memory(CudaTensors.of(part, Device.cuda(1), DType.FLOAT32, Shape.of(2, 3)));
        assertThat(memory).isEqualTo(new DeviceMemory(ADDRESS + 64, 24, Device.cuda(1), 0));
    }

    @Test
    void aStreamOfEitherInterfaceIsItsHandle() throws Exception {
        Pointer pointer = at(ADDRESS, new Pointer());
        CUstream driver = at(77, new CUstream());
        cudaStream_t runtime = at(78, new cudaStream_t());
        assertThat(memory(CudaTensors.of(pointer, Device.cuda(0), driver, DType.INT8, Shape.of(1))).stream())
                .isEqualTo(77);
        assertThat(memory(CudaTensors.of(pointer, Device.cuda(0), runtime, DType.INT8, Shape.of(1))).stream())
                .isEqualTo(78);
    }
}
