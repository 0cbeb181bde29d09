package io.hvd.backend.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;
import org.junit.jupiter.api.Test;

class CudaTensorsTest {
    private static final long ADDRESS = 0x7f00_1234_5600L;
    private final NativeHandle handles = new NativeHandle();

    private static DeviceMemory memory(io.hvd.tensor.Tensor tensor) {
        return (DeviceMemory) tensor.memory();
    }

    @Test
    void aPointerIsItsAddressWithTheOffsetOfAPart() {
        Pointer part = handles.at(ADDRESS, new CUdeviceptr()).withByteOffset(64);
        DeviceMemory memory = memory(CudaTensors.of(part, Device.cuda(1), DType.FLOAT32, Shape.of(2, 3)));
        assertThat(memory).isEqualTo(new DeviceMemory(ADDRESS + 64, 24, Device.cuda(1), 0));
    }

    @Test
    void aStreamOfEitherInterfaceIsItsHandle() {
        Pointer pointer = handles.at(ADDRESS, new Pointer());
        CUstream driver = handles.at(77, new CUstream());
        cudaStream_t runtime = handles.at(78, new cudaStream_t());
        assertThat(memory(CudaTensors.of(pointer, Device.cuda(0), driver, DType.INT8, Shape.of(1))).stream())
                .isEqualTo(77);
        assertThat(memory(CudaTensors.of(pointer, Device.cuda(0), runtime, DType.INT8, Shape.of(1))).stream())
                .isEqualTo(78);
    }
}
