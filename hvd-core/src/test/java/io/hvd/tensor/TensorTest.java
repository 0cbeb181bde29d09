package io.hvd.tensor;

import static io.hvd.tensor.Samples.array;
import static io.hvd.tensor.Samples.direct;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.tensor.Samples.Place;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorTest {
    @Test
    void liesOverTheUsersOwnArray() {
        float[] values = {1, 2, 3};
        Tensor tensor = Tensor.of(values);
        values[1] = 20;
        assertThat(tensor.toFloatArray()).containsExactly(1, 20, 3);
        tensor.copyFrom(Tensor.of(7f, 8f, 9f));
        assertThat(values).containsExactly(7, 8, 9);
    }

    @Test
    void factoriesChooseTheTypeThatTheArrayHas() {
        assertThat(Tensor.of(1f)).hasToString("float32[1] on cpu");
        assertThat(Tensor.of(1.0, 2.0)).hasToString("float64[2] on cpu");
        assertThat(Tensor.of(1, 2)).hasToString("int32[2] on cpu");
        assertThat(Tensor.of(1L)).hasToString("int64[1] on cpu");
        assertThat(Tensor.ofBytes(new byte[3])).hasToString("uint8[3] on cpu");
        assertThat(Tensor.ofShorts(new short[2])).hasToString("int16[2] on cpu");
    }

    @Test
    void aPartOfAnArrayIsReadAndWrittenAtItsOffset() {
        double[] values = {0, 1, 2, 3, 4};
        Tensor part = Tensor.wrap(values, 1, 3, DType.FLOAT64, Shape.of(3));
        assertThat((double[]) part.toArray()).containsExactly(1, 2, 3);
        part.copyFrom(Tensor.of(10.0, 20.0, 30.0));
        assertThat(values).containsExactly(0, 10, 20, 30, 4);
    }

    @Test
    void aBufferIsTakenBetweenItsPositionAndLimit() {
        ByteBuffer buffer = direct(24);
        for (int i = 0; i < 6; i++) {
            buffer.putInt(i * 4, i * 11);
        }
        buffer.position(4).limit(16);
        Tensor tensor = Tensor.wrap(buffer, DType.INT32, Shape.of(3));
        assertThat((int[]) tensor.toArray()).containsExactly(11, 22, 33);
        assertThat(tensor.bytes()).isEqualTo(12);
    }

    @Test
    void aBufferOfAnotherByteOrderIsRefusedWithBothOrdersAndTheCall() {
        ByteOrder other =
                ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
        ByteBuffer buffer = ByteBuffer.allocateDirect(8).order(other).putFloat(0, 1.5f);
        ByteBuffer half = buffer.slice(0, 4).order(other);
        Shape shape = Shape.of(2);
        for (ThrowingCallable wrap : List.<ThrowingCallable>of(
                () -> Tensor.wrap(buffer, DType.FLOAT32, shape),
                () -> Tensor.wrap(List.of(buffer), DType.FLOAT32, shape),
                () -> Tensor.wrap(List.of(direct(4), half), DType.FLOAT32, shape))) {
            assertThatThrownBy(wrap)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll(
                            "float32 tensor of shape [2]",
                            "is " + other,
                            "expected this machine's byte order, " + ByteOrder.nativeOrder(),
                            "buffer.order(ByteOrder.nativeOrder())");
        }
        buffer.order(ByteOrder.nativeOrder()).putFloat(0, 1.5f);
        assertThat(Tensor.wrap(buffer, DType.FLOAT32, shape).toFloatArray()).containsExactly(1.5f, 0);
    }

    @Test
    void elementsOfOneByteHaveNoOrder() {
        for (DType type : List.of(DType.UINT8, DType.INT8, DType.BOOL)) {
            for (ByteOrder order : List.of(ByteOrder.BIG_ENDIAN, ByteOrder.LITTLE_ENDIAN)) {
                ByteBuffer bytes = ByteBuffer.allocateDirect(2).order(order).put(1, (byte) 1);
                assertThat(Tensor.wrap(bytes, type, Shape.of(2)).toFloatArray()).containsExactly(0, 1);
            }
        }
    }

    @Test
    void noElementLiesAcrossTwoBuffers() {
        assertThatThrownBy(() -> Tensor.wrap(List.of(direct(6), direct(2)), DType.INT32, Shape.of(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("int32", "4 bytes", "2 buffers");
        assertThat(Tensor.wrap(List.of(direct(6), direct(2)), DType.INT16, Shape.of(4))
                        .bytes())
                .isEqualTo(8);
    }

    @Test
    void oneBufferInAListIsAnOrdinaryBuffer() {
        assertThat(Tensor.wrap(List.of(direct(8)), DType.INT64, Shape.of(1)).memory())
                .isInstanceOf(BufferMemory.class);
    }

    @Test
    void zerosThatFitNoArrayLieOutsideTheHeap() {
        Tensor zeros = Tensor.zeros(DType.INT32, Shape.of(3), 2);
        assertThat(zeros.memory()).isInstanceOf(SplitMemory.class);
        assertThat((int[]) zeros.toArray()).containsExactly(0, 0, 0);
        assertThat(Tensor.zeros(DType.INT32, Shape.of(2), 2).memory()).isInstanceOf(HeapMemory.class);
    }

    @Test
    void aTensorThatFitsNoArraySaysHowToReadIt() {
        Tensor huge = Tensor.onDevice(0x1000, Device.cuda(0), 0, DType.INT8, Shape.of(3, 1L << 30));
        assertThat(huge.bytes()).isEqualTo(3L << 30);
        for (ThrowingCallable reading : new ThrowingCallable[] {huge::toArray, huge::toFloatArray}) {
            assertThatThrownBy(reading)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("3221225472", "hostMemory().read");
        }
    }

    @Test
    void moreBytesThanALongCountsAreRefused() {
        Shape shape = Shape.of(1L << 61);
        assertThatThrownBy(() -> Tensor.zeros(DType.INT64, shape)).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> Tensor.onDevice(1, Device.cuda(0), 0, DType.INT64, shape))
                .isInstanceOf(ArithmeticException.class);
    }

    @Test
    void refusesMemoryOfAnotherSizeAndNamesBothSizes() {
        assertThatThrownBy(() -> Tensor.wrap(new float[5], DType.FLOAT32, Shape.of(2, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float32", "[2, 3]", "24", "20");
        assertThatThrownBy(() -> Tensor.wrap(direct(7), DType.FLOAT16, Shape.of(4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float16", "[4]", "8", "7");
    }

    @Test
    void refusesAnArrayOfAnotherKindAndNamesBothKinds() {
        assertThatThrownBy(() -> Tensor.wrap(new int[2], DType.FLOAT32, Shape.of(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float32", "float[]", "int[]");
    }

    @Test
    void refusesAPartThatIsNotInsideTheArray() {
        assertThatThrownBy(() -> Tensor.wrap(new float[4], 2, 3, DType.FLOAT32, Shape.of(3)))
                .isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessageContainingAll("2", "3", "4");
    }

    @Test
    void refusesABufferOnTheHeap() {
        assertThatThrownBy(() -> Tensor.wrap(ByteBuffer.allocate(8), DType.INT64, Shape.of(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("heap", "direct");
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void everyTypeTurnsIntoFloats(DType type) {
        for (Place place : Place.values()) {
            Tensor tensor = Samples.tensor(place, type, array(type, 3, i -> i * 50));
            assertThat(tensor.toFloatArray())
                    .as("%s", place)
                    .containsExactly(type == DType.BOOL ? new float[] {0, 1, 1} : new float[] {0, 50, 100});
        }
    }

    @Test
    void unsignedShortsAreNeverNegative() {
        short[] values = {(short) 40_000};
        assertThat(Tensor.wrap(values, DType.UINT16, Shape.of(1)).item()).isEqualTo(40_000);
        assertThat(Tensor.ofShorts(values).item()).isEqualTo(-25_536);
    }

    @Test
    void truthIsCopiedIntoBytes() {
        Tensor tensor = Tensor.copyOf(true, false, true);
        assertThat(tensor).hasToString("bool[3] on cpu");
        assertThat((byte[]) tensor.toArray()).containsExactly(1, 0, 1);
    }

    @Test
    void unsignedBytesAreNeverNegative() {
        assertThat(Tensor.ofBytes(new byte[] {(byte) 200}).item()).isEqualTo(200);
        assertThat(Tensor.wrap(new byte[] {(byte) 200}, DType.INT8, Shape.of(1)).item())
                .isEqualTo(-56);
    }

    @Test
    void itemWantsExactlyOneElement() {
        assertThat(Tensor.wrap(new float[] {4}, DType.FLOAT32, Shape.scalar()).item())
                .isEqualTo(4);
        assertThatThrownBy(() -> Tensor.of(1f, 2f).item())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("2 elements");
    }

    @Test
    void toArrayIsACopy() {
        Tensor tensor = Tensor.of(1, 2);
        ((int[]) tensor.toArray())[0] = 9;
        assertThat((int[]) tensor.toArray()).containsExactly(1, 2);
    }

    @Test
    void copyFromWantsTheSameTypeAndSizeAndNamesBothTensors() {
        assertThatThrownBy(() -> Tensor.of(1f, 2f).copyFrom(Tensor.of(1.0, 2.0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float64[2]", "float32[2]");
        assertThatThrownBy(() -> Tensor.of(1f, 2f).copyFrom(Tensor.of(1f)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float32[1]", "float32[2]");
        assertThatThrownBy(() -> Tensor.of(1f).copyFrom(null)).isInstanceOf(NullPointerException.class);
    }

    @Test
    void aTensorOnAGpuKnowsItsDeviceAndHasNoHostMemory() {
        Tensor tensor = Tensor.onDevice(0x1000, Device.cuda(1), 7, DType.FLOAT16, Shape.of(3));
        assertThat(tensor).hasToString("float16[3] on cuda:1");
        assertThat(tensor.memory()).isEqualTo(new DeviceMemory(0x1000, 6, Device.cuda(1), 7));
        assertThatThrownBy(tensor::hostMemory)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("cuda:1", "cpu");
    }

    @Test
    void theOwnerOfTheMemoryIsNoGarbageAsLongAsTheTensorIsNone() {
        Object owner = new Object();
        WeakReference<Object> seen = new WeakReference<>(owner);
        Tensor tensor = Tensor.of(1f).keeping(owner);
        owner = null;
        System.gc();
        assertThat(seen.get()).isNotNull();
        Reference.reachabilityFence(tensor);
    }

    @Test
    void emptyTensorsAreTensors() {
        assertThat(Tensor.of(new float[0]).toFloatArray()).isEmpty();
        assertThat(Tensor.zeros(DType.INT8, Shape.of(3, 0)).bytes()).isZero();
        assertThat(Tensor.onDevice(0, Device.cuda(0), 0, DType.INT8, Shape.of(0))
                        .bytes())
                .isZero();
    }
}
