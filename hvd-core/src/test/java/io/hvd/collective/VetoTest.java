package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Reducer;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class VetoTest {
    private static final int FIRST = 3;

    /** Also where 256 objections in 8 bits, and 65,536 in 16, come to 0. */
    @ParameterizedTest
    @EnumSource(DType.class)
    void itIsHeardFromAnyNumberOfRanks(DType type) {
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)) {
            Reduction how = new Reduction(op, type, 1, 1);
            for (int size : new int[] {1, 2, 255, 256, 257, 600}) {
                for (int objecting : new int[] {0, 1, 2, 255, 256, 257, 512, 600}) {
                    if (objecting <= size) {
                        assertThat(isHeard(how, size, objecting))
                                .as("%s, %d of %d ranks", how, objecting, size)
                                .isEqualTo(objecting > 0);
                    }
                }
            }
        }
    }

    /** The last ranks object. */
    private static boolean isHeard(Reduction how, int size, int objecting) {
        List<ByteBuffer> all = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            ByteBuffer stage = stage(how.wire(), size);
            new Veto(rank, size).write(stage, FIRST, how, rank >= size - objecting);
            all.add(stage);
        }
        ByteBuffer result = stage(how.wire(), size);
        int elements = new Veto(0, size).elements(how.wire());
        new Reducer().reduce(how.op(), how.wire(), all, FIRST, elements, result);
        return new Veto(0, size).isRaised(result, FIRST, how);
    }

    private static ByteBuffer stage(DType type, int size) {
        int elements = FIRST + new Veto(0, size).elements(type);
        return ByteBuffer.allocateDirect(elements * type.bytes()).order(ByteOrder.nativeOrder());
    }

    /** There is room for 8 bytes of each rank behind a chunk, and for 8 more. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 255, 256, 100_000, 1_000_000})
    void itTakesNoMoreRoomThanThereIs(int size) {
        for (DType type : DType.values()) {
            int padded = new Veto(0, size).elements(type) + size - 1;
            assertThat((long) padded * type.bytes()).isLessThanOrEqualTo(8L * (size + 1));
        }
    }
}
