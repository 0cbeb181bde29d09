package io.hvd.engine.execution;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The operations that are carried out together in every step, and those of the current step that have been
 * submitted.
 */
public final class PlannedBatch {
    private final Slot[] slots;
    private final Reducing.Allreduce[] requests;
    private final PendingOp[] ops;
    private final Tensor[] inputs;
    private final Tensor[] outputs;
    /** The device of all tensors. */
    private final Device device;

    private final long elements;
    private final Batch.Allreduce run;
    private int missing;
    /** Whether the operation that came last did so in a call that waits for its end. */
    private boolean blocking;

    /**
     * Takes the slots into the plan, until it {@link #end ends}.
     *
     * @param number the batch's place in the step
     * @param members the slots, whose requests are remembered
     * @param ranks number of ranks that take part
     */
    public PlannedBatch(int number, List<Slot> members, int ranks) {
        slots = members.toArray(Slot[]::new);
        requests = members.stream()
                .map(slot -> (Reducing.Allreduce) slot.remembered())
                .toArray(Reducing.Allreduce[]::new);
        ops = new PendingOp[slots.length];
        inputs = new Tensor[slots.length];
        outputs = new Tensor[slots.length];
        device = requests[0].device();
        elements = Stream.of(requests)
                .mapToLong(request -> request.shape().elements())
                .sum();
        run = new Batch.Allreduce(
                members.stream().map(slot -> Plan.Op.named(slot.name())).toList(), ranks);
        missing = slots.length;
        plan(number);
    }

    private void plan(int number) {
        for (int place = 0; place < slots.length; place++) {
            slots[place].plan(number, place);
        }
    }

    /**
     * The operations of this step, in the order of the plan. Valid while none is missing, and until
     * {@link #startOver}.
     */
    public List<PendingOp> ops() {
        return Arrays.asList(ops);
    }

    public List<Tensor> inputs() {
        for (int i = 0; i < ops.length; i++) {
            inputs[i] = ops[i].input();
        }
        return Arrays.asList(inputs);
    }

    public List<Tensor> outputs() {
        for (int i = 0; i < ops.length; i++) {
            outputs[i] = ops[i].output();
        }
        return Arrays.asList(outputs);
    }

    /** The batch in the form that {@link Execution} carries out. */
    public Batch.Allreduce run() {
        return run;
    }

    public Device device() {
        return device;
    }

    /** Number of elements of all tensors. */
    public long elements() {
        return elements;
    }

    /** The request of the first operation; all operations have its type and its reduction. */
    public Reducing.Allreduce first() {
        return requests[0];
    }

    /**
     * Takes in an operation that the program has submitted.
     *
     * @return false if it asks for something else than the plan
     */
    public boolean takes(PendingOp op, int place) {
        if (op.request() != requests[place] && !op.request().equals(requests[place])) {
            return false;
        }
        if (ops[place] == null) {
            missing--;
        }
        blocking = op.isBlocking();
        ops[place] = op;
        return true;
    }

    /**
     * Whether the last step has completed this batch in a call that waits for it. Such a call carries the batch
     * out itself, or wakes the communication thread at once.
     */
    public boolean endsInBlockingCall() {
        return blocking;
    }

    public boolean isEmpty() {
        return missing == slots.length;
    }

    /** The batch has been carried out. */
    public void startOver() {
        Arrays.fill(ops, null);
        Arrays.fill(inputs, null);
        Arrays.fill(outputs, null);
        missing = slots.length;
    }

    /** Number of operations that have not been submitted. */
    public int missing() {
        return missing;
    }

    public Stream<Request> requests() {
        return Stream.of(requests);
    }

    /** The plan has ended: its slots belong to no plan any more. */
    public void end() {
        for (Slot slot : slots) {
            slot.leavePlan();
        }
    }
}
