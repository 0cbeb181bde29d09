package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Sets that leave a rank out, whose members get pieces of unlike sizes, none among them, and some of more than a stage:
 * where ranks are threads of several processes, the processes have unlike numbers of members too.
 */
public class UnevenSetContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();
    private static final DType TYPE = DType.FLOAT32;

    /** Elements of a row: a few, and as many as two ranks have of a stage for threads of several processes. */
    private static final int[] COLUMNS = {3, 40_000};

    /** More than a rank has of any stage. */
    private static final int LARGE = 300_001;

    private interface Body {
        void run(ProcessSet set, int rows, int columns);
    }

    /** One row for all members, and one more than they are. */
    private void onUnevenSets(Body body) throws Exception {
        onAllOf(3, hvd -> {
            List<List<Integer>> sets = Stream.of(List.of(0, 2), allBut(1, hvd), allBut(0, hvd))
                    .distinct()
                    .toList();
            for (List<Integer> members : sets) {
                ProcessSet set = hvd.addProcessSet(members);
                if (set.included()) {
                    for (int columns : COLUMNS) {
                        for (int rows : new int[] {1, set.size() + 1}) {
                            body.run(set, rows, columns);
                        }
                    }
                    body.run(set, 1, LARGE);
                }
                hvd.removeProcessSet(set);
            }
            requireUsable(hvd, "uneven");
            return null;
        });
    }

    private static List<Integer> allBut(int out, HvdContext hvd) {
        return IntStream.range(0, hvd.size())
                .filter(rank -> rank != out)
                .boxed()
                .toList();
    }

    private static Tensor rows(int rows, int columns, int rank) {
        return Values.rows(TYPE, rows, columns, rank);
    }

    private static float[] sum(ProcessSet set, int elements) {
        return Values.expected(TYPE, elements, set.size(), ReduceOp.SUM);
    }

    private static void require(String what, ProcessSet set, Tensor found, float[] expected) {
        assertThat(Arrays.equals(found.toFloatArray(), expected))
                .as("%s of %d elements on rank %d of %s", what, expected.length, set.rank(), set.ranks())
                .isTrue();
    }

    private static int first(ProcessSet set, int rows, int member) {
        return rows / set.size() * member + Math.min(member, rows % set.size());
    }

    /** A member's part of {@code rows} that are dealt out evenly; the first members get one more. */
    private static float[] share(ProcessSet set, int rows, int columns, float[] whole) {
        return Arrays.copyOfRange(
                whole, first(set, rows, set.rank()) * columns, first(set, rows, set.rank() + 1) * columns);
    }

    @Test
    void reductionsAreWhole() throws Exception {
        onUnevenSets((set, rows, columns) -> {
            int root = set.ranks().get(set.size() - 1);
            Tensor mine = rows(rows, columns, set.rank());
            float[] all = sum(set, rows * columns);
            require("allreduce", set, set.allreduce("all", mine, SUM), all);
            require("reducescatter", set, set.reducescatter("rs", mine, SUM), share(set, rows, columns, all));
            List<Tensor> group = set.groupedReducescatter("grs", List.of(mine, rows(1, 5, set.rank())), SUM);
            require("reducescatter in a group", set, group.get(0), share(set, rows, columns, all));
            require("reducescatter in a group", set, group.get(1), share(set, 1, 5, sum(set, 5)));
            Tensor atRoot = set.reduce("reduce", mine, SUM, root);
            assertThat(atRoot != null).isEqualTo(set.rank() == set.size() - 1);
            if (atRoot != null) {
                require("reduce", set, atRoot, all);
            }
        });
    }

    /** Member m brings m times as many rows, so that the first brings none. */
    @Test
    void gatheredPiecesAreWhole() throws Exception {
        onUnevenSets((set, rows, columns) -> {
            Tensor mine = rows(set.rank() * rows, columns, set.rank());
            float[] all = new float[rows * columns * set.size() * (set.size() - 1) / 2];
            int at = 0;
            for (int member = 0; member < set.size(); member++) {
                float[] theirs = rows(member * rows, columns, member).toFloatArray();
                System.arraycopy(theirs, 0, all, at, theirs.length);
                at += theirs.length;
            }
            require("allgather", set, set.allgather("gather.all", mine), all);
            Tensor atRoot = set.gather("gather", mine, set.ranks().get(0));
            if (set.rank() == 0) {
                require("gather", set, atRoot, all);
            }
        });
    }

    @Test
    void whatARootGivesIsWhole() throws Exception {
        onUnevenSets((set, rows, columns) -> {
            for (int root : new int[] {0, set.size() - 1}) {
                int global = set.ranks().get(root);
                Tensor given = rows(rows, columns, set.rank());
                float[] whole = rows(rows, columns, root).toFloatArray();
                require("broadcast", set, set.broadcast("broadcast", given, global), whole);
                Tensor part = set.scatter("scatter", set.rank() == root ? given : null, global);
                require("scatter", set, part, share(set, rows, columns, whole));
            }
        });
    }

    /** Every member sends all of its rows to the next one, and nothing to the others. */
    @Test
    void whatGoesFromMemberToMemberIsWhole() throws Exception {
        onUnevenSets((set, rows, columns) -> {
            int n = set.size();
            int before = (set.rank() + n - 1) % n;
            int[] splits = new int[n];
            splits[(set.rank() + 1) % n] = rows;
            AlltoallResult result = set.alltoall("a2a", rows(rows, columns, set.rank()), splits);
            require(
                    "alltoall",
                    set,
                    result.output(),
                    rows(rows, columns, before).toFloatArray());
            if (set.rank() == 0) {
                set.send(rows(rows, columns, 0), set.ranks().get(n - 1), 0);
            } else if (set.rank() == n - 1) {
                Tensor here = Tensor.zeros(TYPE, Shape.of(rows, columns));
                set.receive(here, set.ranks().get(0), 0);
                require("transfer", set, here, rows(rows, columns, 0).toFloatArray());
            }
        });
    }
}
