package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Adasum's sums that are known without its formula, on ranks of every kind; process sets may be added there. */
@Timeout(60)
abstract class AdasumVectors {
    /** Runs a body on every rank. */
    abstract void onAll(RankBody<Void> body) throws Exception;

    /** As many of the first ranks as Adasum can combine. */
    private static ProcessSet powerOfTwo(HvdContext hvd) {
        int most = Integer.highestOneBit(hvd.size());
        return most == hvd.size()
                ? hvd
                : hvd.addProcessSet(IntStream.range(0, most).boxed().toList());
    }

    @Test
    void whatAllHaveStaysAndWhatIsOrthogonalIsAdded() throws Exception {
        onAll(hvd -> {
            ProcessSet set = powerOfTwo(hvd);
            if (!set.included()) {
                return null;
            }
            float[] same = {3, -1, 0.5f};
            float[] orthogonal = new float[set.size()];
            orthogonal[set.rank()] = 1 + set.rank();
            float[] nothing = set.rank() == set.size() - 1 ? new float[] {7, 8} : new float[2];
            new Adasum(set).allreduce("t21", List.of(Tensor.of(same), Tensor.of(orthogonal), Tensor.of(nothing)));
            assertThat(same).containsExactly(3, -1, 0.5f);
            for (int i = 0; i < set.size(); i++) {
                assertThat(orthogonal[i]).isEqualTo(1 + i);
            }
            assertThat(nothing).containsExactly(7, 8);
            return null;
        });
    }

    @Test
    void onlyPowersOfTwoOfRanksAreCombined() throws Exception {
        onAll(hvd -> {
            int below = Integer.highestOneBit(hvd.size());
            if (below == hvd.size()) {
                new Adasum(hvd).allreduce("one", List.of(Tensor.of(new float[1])));
                return null;
            }
            assertThatThrownBy(() -> new Adasum(hvd))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                    .hasMessageContainingAll(
                            "power of two", "found " + hvd.size(), "expected " + below + " or " + 2 * below);
            return null;
        });
    }
}
