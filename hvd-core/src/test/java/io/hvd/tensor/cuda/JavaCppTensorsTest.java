package io.hvd.tensor.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;

/** Addresses only: nothing reads the memory. */
class JavaCppTensorsTest {
    private static final long ADDRESS = 0x7f00_1234_5600L;

    /** As CUDA's functions leave it: an address without a size. */
    private static final class At extends Pointer {
        At(long address) {
            this.address = address;
        }
    }

    private static DeviceMemory memory(Tensor tensor) {
        return (DeviceMemory) tensor.memory();
    }

    @Test
    void aPointerOfAnyTypeIsItsAddressOnTheDefaultStream() {
        assertThat(memory(JavaCppTensors.of(new At(ADDRESS), Device.cuda(1), DType.FLOAT32, Shape.of(2, 3))))
                .isEqualTo(new DeviceMemory(ADDRESS, 24, Device.cuda(1), 0));
    }

    @Test
    void thePositionCountsInElementsOfThePointersType() {
        FloatPointer floats = new FloatPointer(new At(ADDRESS)).position(5);
        LongPointer longs = new LongPointer(new At(ADDRESS)).position(5);

        assertThat(memory(JavaCppTensors.of(floats, Device.cuda(0), DType.FLOAT32, Shape.of(1)))
                        .address())
                .isEqualTo(ADDRESS + 20);
        assertThat(memory(JavaCppTensors.of(longs, Device.cuda(0), DType.UINT8, Shape.of(1)))
                        .address())
                .isEqualTo(ADDRESS + 40);
    }

    @Test
    void aStreamIsItsAddress() {
        assertThat(
                        memory(JavaCppTensors.of(new At(ADDRESS), Device.cuda(0), new At(77), DType.INT8, Shape.of(1)))
                                .stream())
                .isEqualTo(77);
    }

    @Test
    void aTensorThatGoesBeyondThePointersLimitIsRefusedWithBothSizes() {
        FloatPointer ten =
                new FloatPointer(new At(ADDRESS)).capacity(10).limit(10).position(4);

        assertThat(JavaCppTensors.of(ten, Device.cuda(0), DType.FLOAT32, Shape.of(6))
                        .bytes())
                .isEqualTo(24);
        assertThatThrownBy(() -> JavaCppTensors.of(ten, Device.cuda(0), DType.FLOAT32, Shape.of(7)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "28 bytes", "there are 24");
    }
}
