package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.GradientSamples.assertGradient;
import static io.hvd.optimizer.torch.GradientSamples.assertValues;
import static io.hvd.optimizer.torch.GradientSamples.backward;
import static io.hvd.optimizer.torch.GradientSamples.eachType;
import static io.hvd.optimizer.torch.GradientSamples.inEvenAndOddRanks;
import static io.hvd.optimizer.torch.GradientSamples.leaf;
import static io.hvd.optimizer.torch.GradientSamples.mean;
import static io.hvd.optimizer.torch.GradientSamples.total;
import static io.hvd.optimizer.torch.GradientSamples.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What backward brings through each collective, with any number of ranks; each rank's loss is another one. */
@Timeout(120)
abstract class CollectiveGradients {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();
    private static final AllreduceOptions AVERAGE = AllreduceOptions.average();
    private static final AllreduceOptions SCALED_SUM = SUM.withPrescale(0.5).withPostscale(6);

    abstract GradientSamples.Ranks ranks();

    @Test
    void theGradientOfASumIsTheSumOfTheGradients() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> sumAndItsGradient(hvd, hvd.rank(), type));
            return null;
        });
    }

    @Test
    void theGradientOfAnAverageIsTheAverageOfTheGradients() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> {
                Tensor x = leaf(type, hvd.rank(), 2, 3);
                Tensor y = new TorchCollectives(hvd).allreduce("average", x);
                assertValues(y, i -> i % 4 + (hvd.size() + 1) / 2.0);
                backward(y, hvd.rank());
                assertGradient(x, i -> mean(hvd, i));
            });
            return null;
        });
    }

    @Test
    void factorsScaleTheGradientAsTheyScaleTheResult() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> {
                Tensor x = leaf(type, hvd.rank(), 5);
                backward(new TorchCollectives(hvd).allreduce("scaled", x, SCALED_SUM), hvd.rank());
                assertGradient(x, i -> 3 * total(hvd, i));
                Tensor rows = leaf(type, hvd.rank(), hvd.size(), 2);
                backward(new TorchCollectives(hvd).reducescatter("scaled", rows, SCALED_SUM), hvd.rank());
                assertGradient(rows, i -> 3 * hvd.size() * weight(i / 2, i % 2));
            });
            return null;
        });
    }

    @Test
    void theGradientOfASumInAProcessSetComesFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> sumAndItsGradient(set, hvd.rank(), type)));
            return null;
        });
    }

    @Test
    void theGradientsOfAGroupOfSumsAreTheSums() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> groupAndItsGradients(hvd, hvd.rank(), type, SUM));
            return null;
        });
    }

    @Test
    void theGradientsOfAGroupOfAveragesAreTheAverages() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> groupAndItsGradients(hvd, hvd.rank(), type, AVERAGE));
            return null;
        });
    }

    @Test
    void theGradientsOfAGroupInAProcessSetComeFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> groupAndItsGradients(set, hvd.rank(), type, SUM)));
            return null;
        });
    }

    @Test
    void theGradientOfAllgatherIsTheOwnPartOfTheAverage() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> gatherAndItsGradient(hvd, hvd.rank(), type));
            return null;
        });
    }

    @Test
    void theGradientOfAllgatherInAProcessSetComesFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> gatherAndItsGradient(set, hvd.rank(), type)));
            return null;
        });
    }

    @Test
    void theGradientsOfAGroupOfAllgathersAreTheOwnPartsOfTheAverages() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> {
                int me = hvd.rank();
                Tensor narrow = leaf(type, me, me, 2);
                Tensor wide = leaf(type, me, 2, 3);
                List<Tensor> ys = new TorchCollectives(hvd).groupedAllgather("group", List.of(narrow, wide));
                assertThat(ys.get(0).size(0)).isEqualTo(hvd.size() * (hvd.size() - 1) / 2);
                ys.forEach(y -> backward(y, me));
                assertGradient(narrow, i -> mean(hvd, me * (me - 1) + i));
                assertGradient(wide, i -> mean(hvd, 6 * me + i));
            });
            return null;
        });
    }

    @Test
    void theGradientOfABroadcastIsTheAverageOnTheRootAndZeroElsewhere() throws Exception {
        ranks().run(hvd -> {
            eachType(type -> broadcastAndItsGradient(hvd, hvd.rank(), type));
            return null;
        });
    }

    @Test
    void theGradientOfABroadcastInAProcessSetComesFromItsMembers() throws Exception {
        ranks().run(hvd -> {
            inEvenAndOddRanks(hvd, set -> eachType(type -> broadcastAndItsGradient(set, hvd.rank(), type)));
            return null;
        });
    }

    private static void sumAndItsGradient(ProcessSet set, int me, ScalarType type) {
        Tensor x = leaf(type, me, 2, 3);
        Tensor y = new TorchCollectives(set).allreduce("sum", x, SUM);
        assertValues(
                y,
                i -> set.ranks().stream().mapToDouble(rank -> rank + 1 + i % 4).sum());
        backward(y, me);
        assertGradient(x, i -> total(set, i));
    }

    private static void groupAndItsGradients(ProcessSet set, int me, ScalarType type, AllreduceOptions options) {
        List<Tensor> xs =
                IntStream.range(1, 4).mapToObj(rows -> leaf(type, me, rows, 2)).toList();
        List<Tensor> ys = new TorchCollectives(set).groupedAllreduce("group", xs, options);
        Tensor loss = Tensor.create(0f);
        for (Tensor y : ys) {
            Tensor weights = GradientSamples.filled(
                    type, i -> weight(me, i), y.sizes().vec().get());
            loss = loss.add(y.mul(weights).sum());
        }
        loss.sum().backward();
        xs.forEach(x -> assertGradient(x, i -> options == SUM ? total(set, i) : mean(set, i)));
    }

    /** The member at place p has p + 1 rows. */
    private static void gatherAndItsGradient(ProcessSet set, int me, ScalarType type) {
        int place = set.rank();
        Tensor x = leaf(type, me, place + 1, 2);
        Tensor y = new TorchCollectives(set).allgather("gather", x);
        assertThat(y.size(0)).isEqualTo(set.size() * (set.size() + 1) / 2);
        backward(y, me);
        assertGradient(x, i -> mean(set, place * (place + 1) + i));
    }

    private static void broadcastAndItsGradient(ProcessSet set, int me, ScalarType type) {
        int root = set.ranks().get(set.size() - 1);
        Tensor x = leaf(type, me, 3, 2);
        Tensor y = new TorchCollectives(set).broadcast("broadcast", x, root);
        assertValues(y, i -> root + 1 + i % 4);
        backward(y, me);
        assertGradient(x, i -> me == root ? mean(set, i) : 0);
    }
}
