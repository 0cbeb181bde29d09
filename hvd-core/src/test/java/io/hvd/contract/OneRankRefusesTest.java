package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.PreparedCollective;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A program that was only ever run on one rank must not be the first to be refused on two: what all ranks of a larger job are refused,
 * one rank is refused too, by the same error, and so is a process set of one rank.
 */
@Timeout(120)
class OneRankRefusesTest {
    /** A call that all ranks make alike. */
    private interface Call {
        void on(ProcessSet ranks, int root) throws Exception;
    }

    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private static Map<String, Call> calls() {
        Map<String, Call> all = new LinkedHashMap<>();
        // Roots and peers outside of the job
        for (int away : new int[] {-1, 99}) {
            all.put("broadcast " + away, (set, root) -> set.broadcast("b", Tensor.of(1f), away));
            all.put("broadcastInPlace " + away, (set, root) -> set.broadcastInPlace("b", Tensor.of(1f), away));
            all.put("reduce " + away, (set, root) -> set.reduce("r", Tensor.of(1f), SUM, away));
            all.put("gather " + away, (set, root) -> set.gather("g", Tensor.of(1f), away));
            all.put("scatter " + away, (set, root) -> set.scatter("s", Tensor.of(1f, 2f, 3f, 4f, 5f, 6f), away));
            all.put("send " + away, (set, root) -> set.send(Tensor.of(1f), away, 0));
            all.put("receive " + away, (set, root) -> set.receive(Tensor.of(1f), away, 0));
            all.put(
                    "broadcastParameters " + away,
                    (set, root) -> set.broadcastParameters(Map.of("p", Tensor.of(1f)), away));
            all.put(
                    "prepareBroadcast " + away,
                    (set, root) -> prepared(set.prepareBroadcast(List.of("p"), List.of(Tensor.of(1f)), away)));
        }
        // Types and operations
        for (ReduceOp op : ReduceOp.values()) {
            all.put(
                    "allreduce " + op + " of bool",
                    (set, root) -> set.allreduce("o", Tensor.zeros(DType.BOOL, Shape.of(2)), AllreduceOptions.of(op)));
            all.put(
                    "allreduce " + op + " of integers with prescale",
                    (set, root) -> set.allreduce(
                            "o", Tensor.of(1, 2), AllreduceOptions.of(op).withPrescale(0.5)));
            all.put(
                    "allreduce " + op + " of integers with postscale",
                    (set, root) -> set.allreduce(
                            "o", Tensor.of(1, 2), AllreduceOptions.of(op).withPostscale(0.5)));
            all.put("allreduce " + op, (set, root) -> set.allreduce("o", Tensor.of(1f, 2f), AllreduceOptions.of(op)));
            all.put(
                    "allreduce " + op + " of integers as float16",
                    (set, root) -> set.allreduce(
                            "o", Tensor.of(1, 2), AllreduceOptions.of(op).withCompression(Compression.FP16)));
            all.put("reduce " + op, (set, root) -> set.reduce("o", Tensor.of(1f, 2f), AllreduceOptions.of(op), root));
            all.put(
                    "reducescatter " + op,
                    (set, root) ->
                            set.reducescatter("o", Tensor.zeros(DType.FLOAT32, Shape.of(6)), AllreduceOptions.of(op)));
            all.put(
                    "reducescatter " + op + " of bool",
                    (set, root) ->
                            set.reducescatter("o", Tensor.zeros(DType.BOOL, Shape.of(6)), AllreduceOptions.of(op)));
            all.put(
                    "sparseAllreduce " + op,
                    (set, root) -> set.sparseAllreduce(
                            "o", Tensor.of(1L), Tensor.wrap(new float[2], DType.FLOAT32, Shape.of(1, 2)), op));
        }
        all.put(
                "sparseAllreduce of other lengths",
                (set, root) -> set.sparseAllreduce(
                        "o",
                        Tensor.of(1L, 2L),
                        Tensor.wrap(new float[2], DType.FLOAT32, Shape.of(1, 2)),
                        ReduceOp.SUM));
        all.put(
                "sparseAllreduce with floats as rows",
                (set, root) -> set.sparseAllreduce(
                        "o", Tensor.of(1f), Tensor.wrap(new float[2], DType.FLOAT32, Shape.of(1, 2)), ReduceOp.SUM));
        all.put(
                "sparseAllreduce of integers",
                (set, root) -> set.sparseAllreduce(
                        "o", Tensor.of(1L), Tensor.wrap(new int[2], DType.INT32, Shape.of(1, 2)), ReduceOp.AVERAGE));
        // Shapes
        Tensor scalar = Tensor.zeros(DType.FLOAT32, Shape.of());
        all.put("allgather of a scalar", (set, root) -> set.allgather("s", scalar));
        all.put("gather of a scalar", (set, root) -> set.gather("s", scalar, root));
        all.put("reducescatter of a scalar", (set, root) -> set.reducescatter("s", scalar, SUM));
        all.put("alltoall of a scalar", (set, root) -> set.alltoall("s", scalar));
        all.put("alltoall of a scalar with splits", (set, root) -> set.alltoall("s", scalar, splits(set, 1, 0)));
        all.put(
                "prepareAllgather of a scalar",
                (set, root) -> prepared(set.prepareAllgather(List.of("s"), List.of(scalar))));
        all.put(
                "prepareReducescatter of a scalar",
                (set, root) -> prepared(set.prepareReducescatter(List.of("s"), List.of(scalar), SUM)));
        all.put(
                "alltoall with too few splits",
                (set, root) -> set.alltoall("s", Tensor.zeros(DType.FLOAT32, Shape.of(6)), new int[set.size() - 1]));
        all.put(
                "alltoall with too many splits",
                (set, root) -> set.alltoall("s", Tensor.zeros(DType.FLOAT32, Shape.of(6)), new int[set.size() + 1]));
        all.put(
                "alltoall with splits of too few rows",
                (set, root) -> set.alltoall("s", Tensor.zeros(DType.FLOAT32, Shape.of(6)), splits(set, 5, 0)));
        all.put(
                "alltoall with splits of too many rows",
                (set, root) -> set.alltoall("s", Tensor.zeros(DType.FLOAT32, Shape.of(6)), splits(set, 7, 0)));
        all.put(
                "alltoall with a split below 0",
                (set, root) -> set.alltoall("s", Tensor.zeros(DType.FLOAT32, Shape.of(6)), splits(set, -1, 0)));
        // Names
        all.put("a name twice", (set, root) -> {
            Tensor[] both = {Tensor.of(1f), Tensor.of(2f)};
            prepared(set.prepareAllreduce(List.of("n", "n"), List.of(both), SUM));
        });
        all.put("an empty name", (set, root) -> set.allreduce("", Tensor.of(1f)));
        all.put("a blank name", (set, root) -> set.allreduce(" ", Tensor.of(1f)));
        all.put("a name with a line break", (set, root) -> set.allreduce("a\nb", Tensor.of(1f)));
        all.put("a name that is too long", (set, root) -> set.allreduce("n".repeat(1 << 17), Tensor.of(1f)));
        all.put("no tensor", (set, root) -> set.allreduce("n", null));
        all.put("no options", (set, root) -> set.allreduce("n", Tensor.of(1f), null));
        all.put("an empty group", (set, root) -> set.groupedAllreduce("n", List.of(), SUM));
        all.put(
                "a group of several types",
                (set, root) -> set.groupedAllreduce("n", List.of(Tensor.of(1f), Tensor.of(1)), SUM));
        all.put("an empty group to gather", (set, root) -> set.groupedAllgather("n", List.of()));
        all.put("a group with a scalar", (set, root) -> set.groupedAllgather("n", List.of(scalar)));
        all.put("a group to scatter with a scalar", (set, root) -> set.groupedReducescatter("n", List.of(scalar), SUM));
        all.put("no tensors to prepare", (set, root) -> prepared(set.prepareAllreduce(List.of(), List.of(), SUM)));
        all.put(
                "more names than tensors",
                (set, root) -> prepared(set.prepareAllreduce(List.of("a", "b"), List.of(Tensor.of(1f)), SUM)));
        all.put("one tensor twice in a group", (set, root) -> {
            Tensor same = Tensor.of(1f);
            set.groupedAllreduceInPlace("n", List.of(same, same), SUM);
        });
        all.put("one tensor in place twice", (set, root) -> {
            Tensor same = Tensor.of(1f);
            prepared(set.prepareAllreduce(List.of("x", "y"), List.of(same, same), SUM));
        });
        // Order
        all.put("a prepared allreduce that is awaited before its start", (set, root) -> {
            try (var early = set.prepareAllreduce(List.of("t"), List.of(Tensor.of(1f)), SUM)) {
                early.await();
            }
        });
        all.put("a prepared allreduce after its end", (set, root) -> {
            var ended = set.prepareAllreduce(List.of("t"), List.of(Tensor.of(1f)), SUM);
            ended.close();
            ended.start();
        });
        all.put(
                "received() of an allreduce",
                (set, root) -> set.allreduceAsync("r", Tensor.of(1f), SUM).received());
        all.put(
                "synchronize() of an alltoall",
                (set, root) -> set.alltoallAsync("r", Tensor.zeros(DType.FLOAT32, Shape.of(6)))
                        .synchronize());
        all.put("a barrier of no time", (set, root) -> set.monitoredBarrier(Duration.ZERO));
        all.put("a barrier of less than no time", (set, root) -> set.monitoredBarrier(Duration.ofSeconds(-1)));
        return all;
    }

    private static void prepared(PreparedCollective made) {
        try (made) {
            made.start();
            made.await();
        }
    }

    private static int[] splits(ProcessSet set, int first, int others) {
        int[] splits = new int[set.size()];
        Arrays.fill(splits, others);
        splits[0] = first;
        return splits;
    }

    /** The end of each call: an error by its number, or by its class. */
    private static Map<String, String> outcomes(ProcessSet set, int root) {
        Map<String, String> outcomes = new LinkedHashMap<>();
        calls().forEach((name, call) -> outcomes.put(name, outcome(call, set, root)));
        return outcomes;
    }

    private static String outcome(Call call, ProcessSet set, int root) {
        try {
            call.on(set, root);
            return "accepted";
        } catch (HvdException e) {
            return e.id().toString();
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    @Test
    void whatSeveralRanksAreRefusedOneRankIsRefusedToo() {
        Map<String, String> many = Hvd.spawn(3, hvd -> outcomes(hvd, 0)).get(0);
        Map<String, String> one = Hvd.spawn(1, hvd -> outcomes(hvd, 0)).get(0);

        assertThat(differences(many, one)).isEmpty();
    }

    @Test
    void aProcessSetOfOneRankRefusesTheSame() {
        Map<String, String> many = Hvd.spawn(3, hvd -> outcomes(hvd, 0)).get(0);
        Map<String, String> one = Hvd.spawn(3, InitOptions.standard().withDynamicProcessSets(), hvd -> {
                    ProcessSet alone = hvd.addProcessSet(List.of(1));
                    return hvd.rank() == 1 ? outcomes(alone, 1) : Map.<String, String>of();
                })
                .get(1);

        assertThat(differences(many, one)).isEmpty();
    }

    @Test
    void setsAndRanksThatCannotBeAreRefusedByOneRankToo() {
        List<List<Integer>> sets = List.of(List.of(), List.of(0, 0), List.of(-1), List.of(0, 99));
        List<String> many = refusedSets(3, sets);

        assertThat(refusedSets(1, sets)).isEqualTo(many).doesNotContain("accepted");
    }

    private static List<String> refusedSets(int size, List<List<Integer>> sets) {
        return Hvd.spawn(size, InitOptions.standard().withDynamicProcessSets(), hvd -> {
                    List<String> all = new ArrayList<>();
                    for (List<Integer> ranks : sets) {
                        all.add(outcome((set, root) -> hvd.addProcessSet(ranks), hvd, 0));
                    }
                    all.add(outcome((set, root) -> hvd.removeProcessSet(hvd), hvd, 0));
                    all.add(outcome((set, root) -> hvd.processSet(77), hvd, 0));
                    return all;
                })
                .get(0);
    }

    @Test
    void afterItsEndOneRankRefusesWhatManyRefuse() {
        assertThat(closedContexts(1)).isEqualTo(closedContexts(3)).doesNotContain("accepted");
    }

    private static List<String> closedContexts(int size) {
        List<HvdContext> closed = Hvd.spawn(size, hvd -> hvd);
        ProcessSet ended = closed.get(0);
        return List.of(
                outcome((set, root) -> set.allreduce("a", Tensor.of(1f)), ended, 0),
                outcome((set, root) -> set.barrier(), ended, 0),
                outcome((set, root) -> set.join(), ended, 0),
                outcome((set, root) -> set.send(Tensor.of(1f), 0, 0), ended, 0),
                outcome((set, root) -> set.prepareAllreduce(List.of("a"), List.of(Tensor.of(1f)), SUM), ended, 0),
                outcome((set, root) -> set.broadcastParameters(Map.of("p", Tensor.of(1f)), 0), ended, 0));
    }

    private static List<String> differences(Map<String, String> many, Map<String, String> one) {
        List<String> differences = new ArrayList<>();
        many.forEach((name, outcome) -> {
            if (!outcome.equals(one.get(name))) {
                differences.add(name + ": " + outcome + " on several ranks, " + one.get(name) + " on one");
            }
        });
        return differences;
    }
}
