package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.GradientSamples.assertGradient;
import static io.hvd.optimizer.torch.GradientSamples.backward;
import static io.hvd.optimizer.torch.GradientSamples.eachType;
import static io.hvd.optimizer.torch.GradientSamples.inEvenAndOddRanks;
import static io.hvd.optimizer.torch.GradientSamples.leaf;
import static io.hvd.optimizer.torch.GradientSamples.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

/** What backward brings through the collectives that leave each rank other rows. */
abstract class ExchangeGradients extends CollectiveGradients {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();
    private static final AllreduceOptions AVERAGE = AllreduceOptions.average();

    @Test
    void theGradientOfReducescatterAsSumIsTheConcatenationTimesTheRanks() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> scatterAndItsGradient(hvd, hvd.rank(), type, SUM));
            return null;
        });
    }

    @Test
    void theGradientOfReducescatterAsAverageIsTheConcatenation() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> scatterAndItsGradient(hvd, hvd.rank(), type, AVERAGE));
            return null;
        });
    }

    @Test
    void theGradientOfReducescatterInAProcessSetComesFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> scatterAndItsGradient(set, hvd.rank(), type, SUM)));
            return null;
        });
    }

    @Test
    void theGradientsOfAGroupOfReducescattersAreTheConcatenations() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> {
                int n = hvd.size();
                List<Tensor> xs = List.of(leaf(type, hvd.rank(), n, 3), leaf(type, hvd.rank(), 2 * n));
                List<Tensor> ys = new TorchCollectives(hvd).groupedReducescatter("group", xs, SUM);
                ys.forEach(y -> backward(y, hvd.rank()));
                assertGradient(xs.get(0), i -> n * weight(i / 3, i % 3));
                assertGradient(xs.get(1), i -> n * weight(i / 2, i % 2));
            });
            return null;
        });
    }

    @Test
    void theGradientOfAlltoallGoesBackToWhereTheRowsCameFrom() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> exchangeAndItsGradient(hvd, hvd.rank(), type));
            return null;
        });
    }

    @Test
    void theGradientOfAlltoallInAProcessSetComesFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> exchangeAndItsGradient(set, hvd.rank(), type)));
            return null;
        });
    }

    @Test
    void theGradientOfAnEqualAlltoallGoesBackInEqualParts() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> {
                Tensor x = leaf(type, hvd.rank(), 2 * hvd.size(), 3);
                Tensor y = new TorchCollectives(hvd).alltoall("equal", x);
                assertThat(y.size(0)).isEqualTo(2 * hvd.size());
                backward(y, hvd.rank());
                // The rows for rank q lie there behind those of the ranks before this one.
                assertGradient(x, i -> weight(i / 6, 6 * hvd.rank() + i % 6));
            });
            return null;
        });
    }

    /** 2 n + 1 rows: the first member gets three of them, the others two. */
    private static void scatterAndItsGradient(ProcessSet set, int me, ScalarType type, AllreduceOptions options) {
        Tensor x = leaf(type, me, 2 * set.size() + 1, 2);
        Tensor y = new TorchCollectives(set).reducescatter("scatter", x, options);
        assertThat(y.size(0)).isEqualTo(set.rank() == 0 ? 3 : 2);
        backward(y, me);
        List<Double> parts = new ArrayList<>();
        for (int place = 0; place < set.size(); place++) {
            for (int i = 0; i < (place == 0 ? 6 : 4); i++) {
                parts.add(weight(set.ranks().get(place), i));
            }
        }
        assertGradient(x, i -> parts.get(i) * (options == SUM ? set.size() : 1));
    }

    /** One row more than the splits name stays at home. */
    private static void exchangeAndItsGradient(ProcessSet set, int me, ScalarType type) {
        int n = set.size();
        int place = set.rank();
        int[] splits = IntStream.range(0, n).map(to -> rows(place, to)).toArray();
        int sent = IntStream.of(splits).sum();
        Tensor x = leaf(type, me, sent + 1, 2);
        TorchCollectives.Received received = new TorchCollectives(set).alltoall("exchange", x, splits);
        assertThat(received.receivedSplits())
                .isEqualTo(IntStream.range(0, n).map(from -> rows(from, place)).toArray());
        backward(received.output(), me);
        List<Double> parts = new ArrayList<>();
        for (int to = 0; to < n; to++) {
            int receiver = to;
            int before =
                    IntStream.range(0, place).map(from -> rows(from, receiver)).sum();
            for (int i = 0; i < 2 * rows(place, to); i++) {
                parts.add(weight(set.ranks().get(to), 2 * before + i));
            }
        }
        assertGradient(x, i -> i < 2 * sent ? parts.get(i) : 0);
    }

    /** How many rows one member sends another; sometimes none. */
    private static int rows(int from, int to) {
        return (2 * from + to) % 3;
    }
}
