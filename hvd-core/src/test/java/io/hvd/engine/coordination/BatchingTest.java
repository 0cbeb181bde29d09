package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What each kind of request becomes once two ranks agree on it. */
class BatchingTest {
    private static final Request.Payload ROWS = Requests.payload(DType.FLOAT32, Shape.of(3, 2));
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private final Joining joining = new Joining(List.of(4, 7));
    private final List<Request> changed = new ArrayList<>();
    private final Batching batching = new Batching(Requests.settings(1 << 20, 0), joining, new SetChanges() {
        @Override
        public Batch add(Request.AddProcessSet request) {
            changed.add(request);
            return new Batch.AddProcessSet(request.name(), 5, request.members());
        }

        @Override
        public Batch remove(Request.RemoveProcessSet request) {
            changed.add(request);
            return new Batch.RemoveProcessSet(request.name(), request.set());
        }
    });

    private static Tally tally(Request... byRank) {
        Tally tally = new Tally(2, 0);
        for (int rank = 0; rank < byRank.length; rank++) {
            tally.set(rank, byRank[rank], Plan.Op.UNKNOWN);
        }
        return tally;
    }

    private List<Batch> batches(Tally... agreed) {
        return batching.batches(Arrays.asList(agreed));
    }

    private static Tally same(Request request) {
        return tally(request, request);
    }

    @Test
    void reductionsLearnTheirDivisor() {
        assertThat(batches(
                        same(Requests.sum("a", 4)),
                        same(new Reducing.Reducescatter("s", ROWS, SUM, Request.Group.NONE)),
                        same(new Reducing.Reduce("r", ROWS, SUM, 1))))
                .containsExactly(
                        new Batch.Reducescatter("s", 2, true),
                        new Batch.Reduce("r", 2),
                        new Batch.Allreduce(List.of(Plan.Op.named("a")), 2));
    }

    @Test
    void gatheringLearnsTheRowsOfEachRank() {
        assertThat(batches(
                        tally(Requests.gather("g", DType.INT8, 3, 2), Requests.gather("g", DType.INT8, 5, 2)),
                        tally(
                                new Moving.Gather("to.one", ROWS, 1),
                                new Moving.Gather("to.one", Requests.payload(DType.FLOAT32, Shape.of(0, 2)), 1))))
                .containsExactly(
                        new Batch.Allgather("g", List.of(3L, 5L), true), new Batch.Gather("to.one", List.of(3L, 0L)));
    }

    @Test
    void anAlltoallLearnsTheRowsFromEachRankToEachRank() {
        assertThat(batches(tally(
                        new Moving.Alltoall("x", ROWS, List.of(1L, 2L)),
                        new Moving.Alltoall("x", ROWS, List.of(0L, 3L)))))
                .containsExactly(new Batch.Alltoall("x", List.of(List.of(1L, 2L), List.of(0L, 3L)), true));
    }

    @Test
    void aScatterLearnsWhatItsRootBrings() {
        assertThat(batches(tally(
                        new Moving.Scatter("s", Optional.empty(), 1), new Moving.Scatter("s", Optional.of(ROWS), 1))))
                .containsExactly(new Batch.Scatter("s", ROWS));
    }

    @Test
    void whatNeedsNothingMoreIsNamedAlone() {
        Tally transfer = tally(new Moving.Send("t", ROWS, 1), new Moving.Receive("t", ROWS, 0));
        assertThat(batches(
                        transfer,
                        same(new Request.Barrier("w", 9)),
                        same(Requests.broadcast("b", 1, 4)),
                        same(Requests.broadcast("c", 1, 4))))
                .containsExactly(
                        new Batch.Transfer("t"), new Batch.Barrier("w"), new Batch.Broadcast(List.of("b", "c")));
    }

    @Test
    void processSetsChangeWhereTheyAreKept() {
        Request add = new Request.AddProcessSet("add", List.of(4));
        Request remove = new Request.RemoveProcessSet("remove", 3);
        assertThat(batches(same(add), same(remove)))
                .containsExactly(
                        new Batch.AddProcessSet("add", 5, List.of(4)), new Batch.RemoveProcessSet("remove", 3));
        assertThat(changed).containsExactly(add, remove);
    }

    @Test
    void whileRanksHaveJoinedNothingIsRememberedAndTheyLearnWhatTheOthersWant() {
        joining.join(1, new Request.Join("join", JoinDivisor.ACTIVE));
        assertThat(batches(tally(Requests.sum("a", 4)), same(Requests.gather("g", DType.INT8, 3))))
                .containsExactly(
                        new Batch.Allgather("g", List.of(3L, 3L), false),
                        new Batch.AllreduceOfSome(List.of(Requests.sum("a", 4)), 1));
    }

    @Test
    void aGroupOfAnotherKindThanAllreduceTravelsOneByOne() {
        assertThat(batching.group(List.of(
                        same(Requests.gather("g.0", DType.INT8, 3)), same(Requests.gather("g.1", DType.INT8, 3)))))
                .extracting(Batch::names)
                .containsExactly(List.of("g.0"), List.of("g.1"));
        assertThat(batching.group(List.of(same(Requests.sum("h.0", 4)), same(Requests.sum("h.1", 4)))))
                .extracting(Batch::names)
                .containsExactly(List.of("h.0", "h.1"));
    }
}
