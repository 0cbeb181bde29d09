package io.hvd.optimizer.torch.shard;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Shape;
import java.util.List;
import org.junit.jupiter.api.Test;

class FlatLayoutTest {
    private static FlatLayout layout(int ranks) {
        return FlatLayout.of(
                List.of(List.of("weight"), List.of("bias", "tied")), List.of(Shape.of(3, 4), Shape.of(3)), ranks);
    }

    @Test
    void parametersBeginAtMultiplesOfEightAndOnlyThePaddingDependsOnTheRanks() {
        for (int ranks = 1; ranks <= 30; ranks++) {
            FlatLayout layout = layout(ranks);
            assertThat(layout.entries()).extracting(FlatLayout.Entry::offset).containsExactly(0L, 16L);
            assertThat(layout.elements()).isEqualTo(24);
            assertThat(layout.padded()).isBetween(24L, 24L + ranks - 1).isEqualTo(ranks * layout.shard());
            assertThat(layout.fingerprint()).isEqualTo(layout(1).fingerprint());
        }
        assertThat(layout(1).words()).isEqualTo("[weight][3, 4] at 0; [bias, tied][3] at 16; ");
    }

    @Test
    void overlapsBringEveryElementToItsPlaceOnce() {
        for (int before = 1; before <= 9; before++) {
            for (int now = 1; now <= 9; now++) {
                int[] brought = new int[24];
                for (int rank = 0; rank < now; rank++) {
                    for (int from = 0; from < before; from++) {
                        FlatLayout.Overlap overlap = layout(now).overlap(before, from, rank);
                        for (int i = 0; i < overlap.elements(); i++) {
                            long read = layout(before).shard() * from + overlap.fromOffset() + i;
                            long written = layout(now).shard() * rank + overlap.toOffset() + i;
                            assertThat(written)
                                    .as("%d to %d ranks", before, now)
                                    .isEqualTo(read);
                            brought[(int) written]++;
                        }
                    }
                }
                assertThat(brought).as("%d to %d ranks", before, now).containsOnly(1);
            }
        }
    }
}
