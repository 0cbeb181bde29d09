package io.hvd.engine.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.spi.DataPlane;
import io.hvd.tensor.DType;
import io.hvd.trace.FlightRecorder;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a rank remembers of the plans. */
class SetMemberTest {
    private static final Batch GATHERED = new Batch.Allgather("g", List.of(3L, 5L), true);

    private final FlightRecorder recorder = new FlightRecorder(16);
    private final TensorQueue queue = new TensorQueue(1 << 20, 0);

    private SetMember member(int cacheCapacity) {
        DataPlane data = (DataPlane) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {DataPlane.class}, (proxy, method, args) -> null);
        EngineSettings settings = new EngineSettings(1 << 20, true, 0, cacheCapacity, 0, true, false, 0, 0);
        return new SetMember(0, List.of(0, 1), 0, data, settings, new DataLog(recorder));
    }

    /** Submits the requests, and takes what they have come to when the plan has arrived. */
    private List<Batch> arrived(SetMember set, List<Request> requests, Batch... batches) {
        List<PendingOp> ops = requests.stream()
                .map(request -> Ops.op(queue, 0, request, null, recorder))
                .toList();
        queue.submit(ops, false, false);
        List<Batch> arrived = set.arrived(new Plan(0, List.of(batches), List.of(), false, ""), queue)
                .batches();
        queue.drainFresh();
        queue.take(ops);
        return arrived;
    }

    private boolean knows(SetMember set, Request request) {
        return !set.wishes(List.of(Ops.op(queue, 0, request, null, recorder)))
                .known()
                .isEmpty();
    }

    @Test
    void aBatchThatComesAgainIsTheOneThatWasRememberedUnderItsNumber() {
        SetMember set = member(8);
        Request sum = Requests.sum("a", 4);
        Request gather = Requests.gather("g", DType.INT8, 3);
        Batch summed = new Batch.Allreduce(List.of(Op.named("a")), 2);
        assertThat(arrived(set, List.of(sum, gather), summed, GATHERED)).containsExactly(summed, GATHERED);

        assertThat(knows(set, gather)).isTrue();
        assertThat(arrived(set, List.of(gather), new Batch.Again(1))).containsExactly(GATHERED);
    }

    @Test
    void aKnownOperationOfAnAllreduceGetsItsName() {
        SetMember set = member(8);
        Request a = Requests.sum("a", 4);
        Request b = Requests.sum("b", 4);
        arrived(set, List.of(a), new Batch.Allreduce(List.of(Op.named("a")), 2));
        Batch mixed = new Batch.Allreduce(List.of(new Op("", 0), Op.named("b")), 2);
        assertThat(arrived(set, List.of(a, b), mixed))
                .containsExactly(new Batch.Allreduce(List.of(new Op("a", 0), Op.named("b")), 2));
        assertThat(knows(set, b)).isTrue();
    }

    @Test
    void whatHasToGoForAnotherIsAskedForInFullAgain() {
        SetMember set = member(1);
        Request gather = Requests.gather("g", DType.INT8, 3);
        arrived(set, List.of(gather), GATHERED);
        assertThat(knows(set, gather)).isTrue();
        arrived(set, List.of(Requests.sum("a", 4)), new Batch.Allreduce(List.of(Op.named("a")), 2));
        assertThat(knows(set, gather)).isFalse();
    }

    @Test
    void whatIsNotToBeRememberedIsAskedForInFullEachTime() {
        SetMember set = member(8);
        Request gather = Requests.gather("g", DType.INT8, 3);
        arrived(set, List.of(gather), new Batch.Allgather("g", List.of(3L, 5L), false));
        assertThat(knows(set, gather)).isFalse();
        Request sum = Requests.sum("a", 4);
        arrived(set, List.of(sum), new Batch.AllreduceOfSome(List.of(Requests.sum("a", 4)), 1));
        assertThat(knows(set, sum)).isFalse();
    }
}
