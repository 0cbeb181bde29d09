package io.hvd.engine;

import io.hvd.engine.Plan.Op;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import java.util.List;
import java.util.function.Function;

/**
 * What the coordinator has decided about an operation, or about several that travel as one. Each decision is a record of its
 * own, with what the ranks need to know and nothing else. Ranks are numbered within the process set here.
 */
sealed interface Batch {
    /** What the ranks know the operations by. */
    List<String> names();

    /** The members of the set carry it out. */
    sealed interface Run extends Batch {
        /** What a rank takes part with that has not asked for the operation at that place in the batch. */
        default PendingOp standIn(int place) {
            throw new IllegalStateException(
                    "a plan names tensor \"" + names().get(place) + "\", which is not pending here");
        }
    }

    /** The data plane, if anything, is needed for it. */
    sealed interface Collective extends Run {
        /** Calls what carries out this kind, with what has been decided. */
        void carryOut(Execution on);
    }

    /** A collective of one operation. */
    sealed interface Single extends Collective {
        String name();

        @Override
        default List<String> names() {
            return List.of(name());
        }
    }

    /** A collective that some have not asked for, and that is none of their business. */
    sealed interface WhereAsked extends Single {}

    /** A collective whose average is divided by a number that all ranks must have alike. */
    sealed interface Averaging extends Collective {
        int divisor();
    }

    /** A collective of one operation, which the response cache may take in with all that has been decided. */
    sealed interface Repeatable extends Single {
        boolean remember();
    }

    /**
     * An allreduce that all have asked for; the response cache takes the requests in.
     *
     * @param ops in the order in which the tensors travel
     */
    record Allreduce(List<Op> ops, int divisor) implements Averaging {
        public Allreduce {
            ops = List.copyOf(ops);
        }

        @Override
        public List<String> names() {
            return ops.stream().map(Op::name).toList();
        }

        @Override
        public void carryOut(Execution on) {
            on.allreduce();
        }
    }

    /**
     * An allreduce while ranks have joined; the response cache does not take it in.
     *
     * @param asked what the others want, for those that have joined
     */
    record AllreduceOfSome(List<Reducing.Allreduce> asked, int divisor) implements Averaging {
        public AllreduceOfSome {
            asked = List.copyOf(asked);
        }

        @Override
        public List<String> names() {
            return asked.stream().map(Request::name).toList();
        }

        @Override
        public PendingOp standIn(int place) {
            return PendingOp.standIn(asked.get(place));
        }

        @Override
        public void carryOut(Execution on) {
            on.allreduce();
        }
    }

    /** @param remember true if the response cache takes the request in */
    record Reducescatter(String name, int divisor, boolean remember) implements Averaging, Repeatable {
        @Override
        public void carryOut(Execution on) {
            on.reduceScatter();
        }
    }

    record Reduce(String name, int divisor) implements Averaging, Single {
        @Override
        public void carryOut(Execution on) {
            on.reduce();
        }
    }

    record Broadcast(List<String> names) implements Collective {
        public Broadcast {
            names = List.copyOf(names);
        }

        @Override
        public void carryOut(Execution on) {
            on.broadcast();
        }
    }

    /**
     * @param rows that each rank brings
     * @param remember true if the response cache takes the request in
     */
    record Allgather(String name, List<Long> rows, boolean remember) implements Repeatable {
        public Allgather {
            rows = List.copyOf(rows);
        }

        @Override
        public void carryOut(Execution on) {
            on.allgather(rows);
        }
    }

    /** @param rows that each rank brings */
    record Gather(String name, List<Long> rows) implements Single {
        public Gather {
            rows = List.copyOf(rows);
        }

        @Override
        public void carryOut(Execution on) {
            on.gather(rows);
        }
    }

    /** @param given what the root brings */
    record Scatter(String name, Request.Payload given) implements Single {
        @Override
        public void carryOut(Execution on) {
            on.scatter(given);
        }
    }

    /**
     * @param rows by the rank that sends them and the rank that receives them
     * @param remember true if the response cache takes the request in
     */
    record Alltoall(String name, List<List<Long>> rows, boolean remember) implements Repeatable {
        public Alltoall {
            rows = rows.stream().map(List::copyOf).toList();
        }

        @Override
        public void carryOut(Execution on) {
            on.alltoall(rows);
        }
    }

    /** Its two ranks have asked for it, and no others. */
    record Transfer(String name) implements WhereAsked {
        @Override
        public void carryOut(Execution on) {
            on.transfer();
        }
    }

    /** The ranks have met by asking for it; those that have joined need not. */
    record Barrier(String name) implements WhereAsked {
        @Override
        public void carryOut(Execution on) {
            // Nothing is left to be done.
        }
    }

    /** @param last the global rank that joined last */
    record Join(String name, int last) implements Single {
        @Override
        public void carryOut(Execution on) {
            on.bring(Outcome.of(last));
        }
    }

    /** A process set comes or goes. */
    sealed interface SetChange extends Run {
        String name();

        /** The set's number. */
        int set();

        @Override
        default List<String> names() {
            return List.of(name());
        }

        void carryOut(ProcessSets sets);
    }

    /** @param members global ranks */
    record AddProcessSet(String name, int set, List<Integer> members) implements SetChange {
        public AddProcessSet {
            members = List.copyOf(members);
        }

        @Override
        public void carryOut(ProcessSets sets) {
            sets.enter(set, members);
        }
    }

    record RemoveProcessSet(String name, int set) implements SetChange {
        @Override
        public void carryOut(ProcessSets sets) {
            sets.leave(set);
        }
    }

    /**
     * A {@link Repeatable} batch comes again as it was.
     *
     * @param number of its request in the response cache
     */
    record Again(int number) implements Batch {
        /** Each rank's own response cache has the name. */
        @Override
        public List<String> names() {
            return List.of();
        }
    }

    /**
     * An operation that is not carried out.
     *
     * @param error what is wrong
     * @param askers ranks that it is said to; another may have asked for something new by this name meanwhile
     */
    record Refusal(String name, Reason reason, String error, List<Integer> askers) implements Batch {
        public Refusal {
            askers = List.copyOf(askers);
        }

        @Override
        public List<String> names() {
            return List.of(name);
        }

        /** What those get who wait for the operation. */
        HvdException exception() {
            return reason.exception.apply(error);
        }
    }

    /** Why an operation is refused. */
    enum Reason {
        MISMATCH(RankMismatchException::new),
        BAD_ARGUMENT(error -> new HvdException(ErrorId.BAD_ARGUMENT, error)),
        TIMED_OUT(BarrierTimeoutException::new),
        RANK_GONE(ShutdownException::new);

        private final Function<String, HvdException> exception;

        Reason(Function<String, HvdException> exception) {
            this.exception = exception;
        }
    }
}
