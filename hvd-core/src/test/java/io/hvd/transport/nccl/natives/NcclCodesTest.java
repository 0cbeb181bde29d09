package io.hvd.transport.nccl.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NcclCodesTest {
    @Test
    void theNumbersAreThoseOfNcclsHeader() {
        // nccl.h: int8 0, uint8 1, int32 2, int64 4, float16 6, float32 7, float64 8, bfloat16 9
        assertThat(Arrays.stream(DType.values()).filter(NcclCodes::reduces).map(NcclCodes::type))
                .containsExactly(7, 8, 2, 4, 0, 1, 6, 9, 1);
        assertThat(NcclCodes.operator(ReduceOp.SUM)).isEqualTo(0);
        assertThat(NcclCodes.operator(ReduceOp.PRODUCT)).isEqualTo(1);
        assertThat(NcclCodes.operator(ReduceOp.MAX)).isEqualTo(2);
        assertThat(NcclCodes.operator(ReduceOp.MIN)).isEqualTo(3);
        assertThatThrownBy(() -> NcclCodes.operator(ReduceOp.AVERAGE)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT16", "UINT16"})
    void aTypeThatNcclLacksIsNotCombined(DType type) {
        assertThat(NcclCodes.reduces(type)).isFalse();
        assertThatThrownBy(() -> NcclCodes.type(type)).hasMessageContainingAll("NCCL", type.toString());
    }

    @Test
    void aFactorHasTheBitsOfTheTensorsType() {
        assertThat(NcclCodes.scalar(0.25, DType.FLOAT64)).containsExactly(0, 0, 0, 0, 0, 0, 0xd0, 0x3f);
        assertThat(NcclCodes.scalar(0.25, DType.FLOAT32)).containsExactly(0, 0, 0x80, 0x3e);
        assertThat(NcclCodes.scalar(0.25, DType.FLOAT16)).containsExactly(0, 0x34);
        assertThat(NcclCodes.scalar(0.25, DType.BFLOAT16)).containsExactly(0x80, 0x3e);
        assertThatThrownBy(() -> NcclCodes.scalar(0.25, DType.INT32)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aVersionReadsAsNcclWritesIt() {
        assertThat(NcclCodes.version(21805)).isEqualTo("2.18.5");
        assertThat(NcclCodes.version(22703)).isEqualTo("2.27.3");
        assertThat(NcclCodes.code("2.30.7")).isEqualTo(23007);
    }
}
