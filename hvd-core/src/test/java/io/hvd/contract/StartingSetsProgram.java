package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;

/** A program of four ranks that names its process sets at the start, first wrongly, then rightly. */
public final class StartingSetsProgram {
    private StartingSetsProgram() {}

    public static void main(String[] args) {
        int rank = Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK"));
        refused(List.of(List.of(0, 1), List.of(1, 0)), "process set 2", "[0, 1]", "twice", "number 1");
        refused(List.of(List.of(3, 2, 1, 0)), "process set 1", "twice", "number 0");
        refused(List.of(List.of(0, 4)), "process set 1", "rank 4", "[0, 3]");
        List<Integer> second = rank == 3 ? List.of(2, 3) : List.of(1, 2);
        refused(List.of(List.of(0, 1), second), "start: process set 2: [1, 2] on ranks [0, 1, 2]; [2, 3] on ranks [3]");
        refused(
                rank == 3 ? List.of() : List.of(List.of(0, 1)),
                "start: number of process sets: 1 on ranks [0, 1, 2]; 0 on ranks [3]");
        refused(
                List.of(rank == 3 ? List.of(0, 4) : List.of(0, 1)),
                "start: process set 1: [0, 1] on ranks [0, 1, 2]; [0, 4] on ranks [3]");
        try (HvdContext hvd = Hvd.init(options(List.of(List.of(1, 0), List.of(1, 3), List.of(2))))) {
            use(hvd);
        }
        System.out.println("starting sets work on rank " + rank);
    }

    private static void use(HvdContext hvd) {
        assertThat(hvd.processSets()).hasSize(4);
        assertThat(hvd.processSet(1).ranks()).containsExactly(0, 1);
        for (int step = 0; step < 20; step++) {
            for (int id = 1; id <= 3; id++) {
                // Rank 1 takes its two sets in turns, first the one and then the other.
                ProcessSet set = hvd.processSet(hvd.rank() == 1 && step % 2 == 1 ? 4 - id : id);
                if (set.included()) {
                    int sum = set.ranks().stream().mapToInt(Integer::intValue).sum();
                    assertThat(Contract.sum(set, "sum", hvd.rank())).isEqualTo(sum);
                    int root = set.ranks().get(set.size() - 1);
                    assertThat(set.broadcast("root", Tensor.of(hvd.rank()), root)
                                    .item())
                            .isEqualTo(root);
                }
            }
            assertThat(Contract.sum(hvd, "sum", hvd.rank())).isEqualTo(6);
        }
        ProcessSet late = hvd.addProcessSet(List.of(0, 2));
        assertThat(late.id()).isEqualTo(4);
        if (late.included()) {
            assertThat(Contract.sum(late, "late", 1)).isEqualTo(2);
        }
    }

    private static InitOptions options(List<List<Integer>> sets) {
        return InitOptions.standard().withProcessSets(sets);
    }

    private static void refused(List<List<Integer>> sets, String... facts) {
        assertThatThrownBy(() -> Hvd.init(options(sets)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(facts);
    }
}
