package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shards that one number of ranks has saved and another one loads. */
@Timeout(180)
class ReshardTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** What the ranks have saved, and the whole parameters. */
    private record Saved(List<SortedMap<String, Tensor>> shards, Map<String, float[]> whole) {}

    /** @param before null for two steps instead */
    private static Saved run(int ranks, int[] inner, Saved before) throws Exception {
        List<SortedMap<String, Tensor>> shards = new ArrayList<>(Collections.nCopies(ranks, null));
        Map<String, float[]> whole = new TreeMap<>();
        Hvd.spawn(ranks, hvd -> {
            ResidualModel model = new ResidualModel(ScalarType.Float, before == null ? 3 : 4, inner);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()));
                    PointerScope scope = new PointerScope()) {
                var optimizer = shard.optimizer(share -> new AdamW(share, new AdamWOptions(0.01)));
                if (before == null) {
                    for (int step = 0; step < 2; step++) {
                        optimizer.zeroGradients();
                        shard.backward(model.loss(4 * hvd.rank(), 4 * hvd.rank() + 4));
                        optimizer.step();
                    }
                } else {
                    shard.loadShards(before.shards.size(), before.shards::get);
                }
                shards.set(hvd.rank(), shard.shards());
                SortedMap<String, Tensor> all = shard.stateDict(0);
                if (hvd.rank() == 0) {
                    all.forEach((name, tensor) -> whole.put(name, tensor.toFloatArray()));
                }
            }
            return null;
        });
        return new Saved(shards, whole);
    }

    @Test
    void fourRanksGoOnAsThreeThenOneThenFourToTheBit() throws Exception {
        assertSame(new int[] {7, 3, 11}, 4, 3, 1, 4);
    }

    @Test
    void unitsOfAnyShapeGoFromAnyNumberOfRanksToAnyOther() throws Exception {
        for (long seed = 1; seed <= 4; seed++) {
            Random random = new Random(seed);
            int[] inner = random.ints(1 + random.nextInt(3), 1, 30).toArray();
            int first = 1 + random.nextInt(5);
            assertSame(inner, first, 1 + random.nextInt(5), 1 + random.nextInt(5), first);
        }
    }

    /** @param ranks ends with the number that it begins with */
    private static void assertSame(int[] inner, int... ranks) throws Exception {
        String what = Arrays.toString(inner) + " over " + Arrays.toString(ranks) + " ranks";
        Saved first = run(ranks[0], inner, null);
        Saved last = first;
        for (int i = 1; i < ranks.length; i++) {
            last = run(ranks[i], inner, last);
            assertThat(last.whole.keySet()).isEqualTo(first.whole.keySet());
            last.whole.forEach((name, values) ->
                    assertThat(values).as("%s, %s", what, name).containsExactly(first.whole.get(name)));
        }
        for (int rank = 0; rank < ranks[0]; rank++) {
            SortedMap<String, Tensor> found = last.shards.get(rank);
            SortedMap<String, Tensor> expected = first.shards.get(rank);
            assertThat(found.keySet())
                    .as(what)
                    .isEqualTo(expected.keySet())
                    .contains("block0.flat_param.moment.exp_avg_sq", "block0.flat_param.moment.step");
            expected.forEach((name, tensor) -> assertThat(found.get(name).toArray())
                    .as("%s, %s", what, name)
                    .isEqualTo(tensor.toArray()));
        }
    }
}
