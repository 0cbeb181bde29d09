package io.hvd.engine.plan;

import io.hvd.engine.execution.Execution;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A step that every rank carries out on its own, batch by batch, without asking the coordinator: the ranks meet in the
 * data plane. A rank that is asked for anything else must veto the next batch, which takes all ranks back to
 * negotiating. Each operation counts down what its batch lacks, so that nothing is looked up.
 */
public final class StaticPlan {
    private final List<List<String>> names;
    private final PlannedBatch[] batches;
    private final long bytes;
    private int next;
    private boolean left;

    /**
     * Takes the slots into the plan, until it {@link #end ends}.
     *
     * @param batches the slots of each batch, whose requests are remembered
     * @param ranks number of ranks that take part
     */
    public StaticPlan(List<List<Slot>> batches, int ranks) {
        this.names = batches.stream()
                .map(batch -> batch.stream().map(Slot::name).toList())
                .toList();
        this.batches = IntStream.range(0, batches.size())
                .mapToObj(number -> new PlannedBatch(number, batches.get(number), ranks))
                .toArray(PlannedBatch[]::new);
        this.bytes =
                requests(0, this.batches.length).mapToLong(Request::wireBytes).sum();
    }

    /** Number of bytes that a step reduces. */
    long bytes() {
        return bytes;
    }

    /**
     * The operations that are carried out together in every step, and those of the current step that have been
     * submitted.
     */
    public static final class PlannedBatch {
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

        private PlannedBatch(int number, List<Slot> members, int ranks) {
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
            List<Plan.Op> named =
                    members.stream().map(slot -> Plan.Op.named(slot.name())).toList();
            run = new Batch.Allreduce(named, ranks);
            missing = slots.length;
            for (int place = 0; place < slots.length; place++) {
                slots[place].plan(number, place);
            }
        }

        /**
         * The operations of this step, in the order of the plan. Valid while none is missing, and until {@link
         * #advance}.
         */
        List<PendingOp> ops() {
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
        Batch.Allreduce run() {
            return run;
        }

        Device device() {
            return device;
        }

        /** Number of elements of all tensors. */
        long elements() {
            return elements;
        }

        /** The request of the first operation; all operations have its type and its reduction. */
        Reducing.Allreduce first() {
            return requests[0];
        }

        private boolean takes(PendingOp op, int place) {
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
        boolean endsInBlockingCall() {
            return blocking;
        }

        private boolean isEmpty() {
            return missing == slots.length;
        }

        private void startOver() {
            Arrays.fill(ops, null);
            Arrays.fill(inputs, null);
            Arrays.fill(outputs, null);
            missing = slots.length;
        }
    }

    /** Takes in an operation of the set that the program has submitted. */
    public void submitted(PendingOp op) {
        int batch = op.slot().batch();
        if (batch == Slot.NOT_PLANNED
                || beginsStepTooEarly(batch)
                || !batches[batch].takes(op, op.slot().placeInBatch())) {
            left = true;
        }
    }

    /**
     * An operation of a batch that has been carried out belongs to the next step. If this step is not complete by then,
     * it never will be.
     */
    private boolean beginsStepTooEarly(int batch) {
        for (int i = next; batch < next && i < batches.length; i++) {
            if (batches[i].missing > 0) {
                return true;
            }
        }
        return false;
    }

    /** The rank is asked for something that is not planned. */
    void leave() {
        left = true;
    }

    boolean isLeft() {
        return left;
    }

    /** Whether all operations of the next batch have been submitted. */
    boolean isDue() {
        return !left && missing() == 0;
    }

    /** Number of operations of the next batch that have not been submitted. */
    int missing() {
        return next().missing;
    }

    /** Whether no submitted operation is still to be carried out. */
    boolean isIdle() {
        for (PlannedBatch batch : batches) {
            if (!batch.isEmpty()) {
                return false;
            }
        }
        return true;
    }

    boolean isAtLastBatch() {
        return next == batches.length - 1;
    }

    PlannedBatch next() {
        return batches[next];
    }

    /** The names of the step's operations, batch by batch. */
    List<List<String>> names() {
        return names;
    }

    /**
     * Names of the operations that this step has carried out, by the name of their group, for groups that are not
     * complete.
     */
    Map<String, Set<String>> begunGroups() {
        Map<String, Set<String>> begun = new HashMap<>();
        requests(0, next)
                .forEach(request -> begun.computeIfAbsent(request.group().name(), key -> new HashSet<>())
                        .add(request.name()));
        Set<String> unfinished = new HashSet<>();
        requests(next, batches.length)
                .map(Request::group)
                .filter(group -> !group.isNone())
                .forEach(group -> unfinished.add(group.name()));
        begun.keySet().retainAll(unfinished);
        return begun;
    }

    private Stream<Request> requests(int fromBatch, int toBatch) {
        return Arrays.stream(batches, fromBatch, toBatch).flatMap(batch -> Stream.of(batch.requests));
    }

    /** The next batch has been carried out. */
    void advance() {
        next().startOver();
        next = (next + 1) % batches.length;
    }

    /** The plan has ended: its slots belong to no plan any more. */
    public void end() {
        for (PlannedBatch batch : batches) {
            for (Slot slot : batch.slots) {
                slot.leavePlan();
            }
        }
    }
}
