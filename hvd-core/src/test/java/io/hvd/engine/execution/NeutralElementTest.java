package io.hvd.engine.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Requests;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import org.junit.jupiter.api.Test;

class NeutralElementTest {
    private static double element(DType type, ReduceOp op) {
        return NeutralElement.element(Requests.allreduce("a", type, Shape.of(4), op))
                .item();
    }

    @Test
    void changesNoSumProductOrExtreme() {
        assertThat(element(DType.FLOAT32, ReduceOp.SUM)).isZero();
        assertThat(element(DType.FLOAT32, ReduceOp.AVERAGE)).isZero();
        assertThat(element(DType.INT32, ReduceOp.PRODUCT)).isEqualTo(1);
        assertThat(element(DType.FLOAT64, ReduceOp.MAX)).isEqualTo(Double.NEGATIVE_INFINITY);
        assertThat(element(DType.INT8, ReduceOp.MIN)).isEqualTo(Byte.MAX_VALUE);
    }
}
