package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.Test;

class SegmentTableTest {
    private static final Kernel TO_HALF = Kernel.converting(DType.FLOAT32, DType.FLOAT16);

    private final ByteBuffer rows = ByteBuffer.allocate(1024).order(ByteOrder.nativeOrder());

    @Test
    void aRowIsSourceDestinationElementsAndFirstTile() {
        SegmentTable table = SegmentTable.write(
                List.of(
                        new DeviceSegment(0x1000, 0x2000, 4096),
                        new DeviceSegment(0, 0, 0),
                        new DeviceSegment(0x8004, 0x9002, 4096),
                        new DeviceSegment(0xC000, 0xD000, 1)),
                TO_HALF,
                rows);
        assertThat(table).isEqualTo(new SegmentTable(3, 4));
        long[] written = new long[12];
        rows.asLongBuffer().get(written);
        // The second segment begins one element behind a border, so its last element is in a tile of its own.
        assertThat(written).containsExactly(0x1000, 0x2000, 4096, 0, 0x8004, 0x9002, 4096, 1, 0xC000, 0xD000, 1, 3);
    }

    @Test
    void anAddressBetweenElementsIsRefused() {
        assertThatThrownBy(() -> SegmentTable.write(List.of(new DeviceSegment(0x1002, 0x2000, 1)), TO_HALF, rows))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "hvd_float32_to_float16", "multiples of 4 and 2 bytes");
        assertThatThrownBy(() -> new DeviceSegment(0, 0x2000, 1)).hasMessageContaining("HVD-202");
        assertThatThrownBy(() -> new DeviceSegment(1, 1, -1)).hasMessageContaining("-1 elements");
    }

    @Test
    void aTileIsWhatTheKernelsTakeForOne() {
        assertThat(Kernel.copy(1).tileElements()).isEqualTo(8192);
        assertThat(Kernel.copy(2).tileElements()).isEqualTo(4096);
        assertThat(TO_HALF.tileElements()).isEqualTo(4096);
        assertThat(Kernel.converting(DType.FLOAT64, DType.FLOAT64).tileElements())
                .isEqualTo(2048);
        assertThat(Kernel.converting(DType.INT64, DType.INT64).tileElements()).isEqualTo(1024);
    }

    @Test
    void aConversionTakesTheKernelThatDoesNoMoreThanItMust() {
        assertThat(Conversion.copy(DType.BOOL).kernel(true).entry()).isEqualTo("hvd_copy_1");
        assertThat(Conversion.copy(DType.FLOAT16).kernel(false).entry()).isEqualTo("hvd_copy_2");
        assertThat(Conversion.copy(DType.FLOAT16).kernel(true).entry()).isEqualTo("hvd_float16_to_float16");
        assertThat(new Conversion(DType.UINT16, DType.UINT16, 0.5).kernel(false).entry())
                .isEqualTo("hvd_uint16_to_uint16");
        assertThat(new Conversion(DType.BFLOAT16, DType.FLOAT64, 1)
                        .kernel(false)
                        .entry())
                .isEqualTo("hvd_bfloat16_to_float64");
    }

    @Test
    void whatHasNoKernelIsRefusedWithTheReason() {
        for (Conversion none : List.of(
                new Conversion(DType.INT32, DType.FLOAT16, 1),
                new Conversion(DType.FLOAT16, DType.UINT8, 1),
                new Conversion(DType.FLOAT16, DType.BFLOAT16, 1),
                new Conversion(DType.FLOAT32, DType.FLOAT64, 1),
                new Conversion(DType.INT8, DType.UINT8, 1))) {
            assertThat(none.refused().orElse(""))
                    .contains("no GPU kernel", none.from().toString(), none.to().toString());
        }
        assertThatThrownBy(() -> new Conversion(DType.BOOL, DType.BOOL, 0.5).kernel(false))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-201", "bool");
    }

    @Test
    void aNumberBecomesAJCudaObjectAndANumberAgain() {
        NativeHandle handles = new NativeHandle();
        CUstream stream = handles.at(0x7f0012345678L, new CUstream());
        assertThat(stream.toString()).contains("7f0012345678");
        assertThat(handles.number(stream)).isEqualTo(0x7f0012345678L);
        assertThat(handles.at(-16L, new CUdeviceptr()).toString()).contains("fffffffffffffff0");
    }
}
