package io.hvd.tensor;

import static io.hvd.tensor.Samples.array;
import static io.hvd.tensor.Samples.direct;
import static io.hvd.tensor.Samples.split;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class MemoryTest {
    @ParameterizedTest
    @EnumSource(DType.class)
    void countsBytesOfEveryType(DType type) {
        assertThat(HeapMemory.allocate(type, 5).bytes()).isEqualTo(5L * type.bytes());
        assertThat(new HeapMemory(array(type, 9, i -> 0), 2, 5).bytes()).isEqualTo(5L * type.bytes());
        assertThat(new BufferMemory(direct(5 * type.bytes())).bytes()).isEqualTo(5L * type.bytes());
        assertThat(new SplitMemory(split(777L * type.bytes())).bytes()).isEqualTo(777L * type.bytes());
        assertThat(SplitMemory.allocate(5L * type.bytes(), 8).bytes()).isEqualTo(5L * type.bytes());
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void readsAndWritesFromTheElementThatWasAskedFor(DType type) {
        Object initial = array(type, 6, i -> i + 1);
        for (HostMemory memory : new HostMemory[] {
            new HeapMemory(array(type, 8, i -> 9), 1, 6),
            new BufferMemory(direct(6 * type.bytes())),
            SplitMemory.allocate(6L * type.bytes(), 8)
        }) {
            memory.write(type, 0, initial, 6);
            memory.write(type, 2, array(type, 2, i -> 50 + i), 2);
            Object read = array(type, 4, i -> 0);
            memory.read(type, 1, read, 4);
            double[] expected = {2, 50, 51, 5};
            assertThat(read).isEqualTo(array(type, 4, i -> expected[i]));
            assertThat(memory.device()).isEqualTo(Device.CPU);
        }
    }

    @Test
    void aPartOfAnArrayIsWrittenAtItsOffset() {
        long[] array = {1, 2, 3, 4, 5};
        new HeapMemory(array, 2, 2).write(DType.INT64, 1, new long[] {40}, 1);
        assertThat(array).containsExactly(1, 2, 3, 40, 5);
    }

    @Test
    void aRunBeyondTheEndIsRefusedThoughTheArrayGoesOn() {
        HeapMemory heap = new HeapMemory(new float[10], 2, 4);
        assertThatThrownBy(() -> heap.read(DType.FLOAT32, 3, new float[2], 2))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> heap.write(DType.FLOAT32, 4, new float[1], 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        for (HostMemory memory : new HostMemory[] {new BufferMemory(direct(16)), SplitMemory.allocate(16, 8)}) {
            assertThatThrownBy(() -> memory.read(DType.FLOAT32, 3, new float[2], 2))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> memory.write(DType.FLOAT32, -1, new float[2], 2))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void anIndexBeyondTheIntegersDoesNotWrapAround() {
        for (HostMemory memory : new HostMemory[] {
            new HeapMemory(new float[10], 0, 10), new BufferMemory(direct(40)), SplitMemory.allocate(40, 8)
        }) {
            for (long index : new long[] {1L << 30, 1L << 32, 1L << 62, Long.MAX_VALUE}) {
                assertThatThrownBy(() -> memory.read(DType.FLOAT32, index, new float[2], 2))
                        .as("element %d of %s", index, memory)
                        .isInstanceOfAny(IndexOutOfBoundsException.class, ArithmeticException.class);
            }
        }
    }

    @Test
    void splitMemoryIsThatOfItsBuffersFromPositionToLimit() {
        ByteBuffer first = direct(12).position(4);
        ByteBuffer second = direct(12).limit(8);
        new SplitMemory(List.of(first, second)).write(DType.INT32, 1, new int[] {7, 8}, 2);
        assertThat(first.getInt(8)).isEqualTo(7);
        assertThat(second.getInt(0)).isEqualTo(8);
    }

    @Test
    void deviceMemoryWantsAGpuAndAnAddress() {
        assertThatThrownBy(() -> new DeviceMemory(1, 4, Device.CPU, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("cpu", "CUDA");
        assertThatThrownBy(() -> new DeviceMemory(0, 4, Device.cuda(0), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("4 bytes", "address 0");
    }

    @Test
    void devicesAreNamedAndNumberedFromZero() {
        assertThat(Device.CPU).hasToString("cpu");
        assertThat(Device.cuda(3)).hasToString("cuda:3");
        assertThatThrownBy(() -> Device.cuda(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("-1", "0 or more");
    }

    @Test
    void typesHaveTheNamesSizesAndNumbersThatTravel() {
        assertThat(Stream.of(DType.values()).map(DType::toString))
                .containsExactly(
                        "float32",
                        "float64",
                        "int32",
                        "int64",
                        "int8",
                        "uint8",
                        "float16",
                        "bfloat16",
                        "bool",
                        "int16",
                        "uint16");
        assertThat(Stream.of(DType.values()).map(DType::bytes)).containsExactly(4, 8, 4, 8, 1, 1, 2, 2, 1, 2, 2);
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void onlyTruthHasNoAverageAndTakesNoFactor(DType type) {
        for (ReduceOp op : ReduceOp.values()) {
            boolean refused = type == DType.BOOL && op == ReduceOp.AVERAGE;
            assertThat(type.refuses(op).isPresent()).as("%s", op).isEqualTo(refused);
        }
        assertThat(type.refusesScaling().isPresent()).isEqualTo(type == DType.BOOL);
        assertThat(DType.BOOL.refuses(ReduceOp.AVERAGE).orElseThrow()).contains("bool", "average", "SUM", "MIN");
        assertThat(DType.BOOL.refusesScaling().orElseThrow()).contains("bool", "scale");
    }
}
