package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** 49 is the least number whose reciprocal, as a double, comes to less than 1 with it. */
@Timeout(120)
class AverageOfManyRanksTest {
    private static final int RANKS = 49;
    private static final int[] VALUES = {1, 7, -1, 1_000_000};

    private static void spawn(int ranks, RankBody<?> body) {
        LocalRanks.spawn(ranks, InitOptions.standard().withDynamicProcessSets(), Map.of(), body);
    }

    @Test
    void theAverageOfEqualIntegersIsThatInteger() {
        spawn(RANKS, hvd -> {
            requireAverages(hvd);
            return null;
        });
    }

    @Test
    void theAverageAmongTheMembersOfAProcessSetIsThatOfTheMembers() {
        spawn(RANKS + 1, hvd -> {
            ProcessSet set = hvd.addProcessSet(IntStream.range(0, RANKS).boxed().toList());
            if (set.included()) {
                requireAverages(set);
            }
            return null;
        });
    }

    private static void requireAverages(ProcessSet set) {
        assertThat((int[]) set.allreduce("ints", Tensor.of(VALUES)).toArray()).isEqualTo(VALUES);
        Tensor bytes = Tensor.wrap(new byte[] {1, 2, -2}, DType.INT8, Shape.of(3));
        assertThat(set.allreduce("bytes", bytes).toArray()).isEqualTo(bytes.toArray());
        List<Tensor> group = List.of(Tensor.of(5), Tensor.of(3L * RANKS));
        List<Tensor> averages = set.groupedAllreduce("group", group, AllreduceOptions.average());
        assertThat((int[]) averages.get(0).toArray()).containsExactly(5);
        assertThat((long[]) averages.get(1).toArray()).containsExactly(3L * RANKS);

        short[] rows = new short[RANKS];
        Arrays.fill(rows, (short) -5);
        Tensor mine = set.reducescatter("rows", Tensor.ofShorts(rows), AllreduceOptions.average());
        assertThat((short[]) mine.toArray()).containsExactly((short) -5);
        Tensor atRoot = set.reduce("root", Tensor.of(VALUES), AllreduceOptions.average(), RANKS - 1);
        if (atRoot != null) {
            assertThat((int[]) atRoot.toArray()).isEqualTo(VALUES);
        }
    }

    /** Joined ranks count as zeros, or do not count. */
    @Test
    void theAverageAmongThoseThatHaveNotJoinedIsExactToo() {
        spawn(RANKS + 1, hvd -> {
            if (hvd.rank() < RANKS) {
                assertThat((int[]) hvd.allreduce("active", Tensor.of(VALUES)).toArray())
                        .isEqualTo(VALUES);
            }
            hvd.join(JoinDivisor.ACTIVE);
            return null;
        });
        spawn(RANKS, hvd -> {
            if (hvd.rank() > 0) {
                int[] sum = {RANKS, 2 * RANKS};
                int[] brought = hvd.rank() == 1 ? sum : new int[2];
                assertThat((int[]) hvd.allreduce("initial", Tensor.of(brought)).toArray())
                        .containsExactly(1, 2);
            }
            hvd.join(JoinDivisor.INITIAL);
            return null;
        });
    }
}
