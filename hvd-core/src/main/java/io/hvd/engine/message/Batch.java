package io.hvd.engine.message;

import io.hvd.engine.message.Plan.Op;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import java.util.List;
import java.util.function.Function;

/**
 * The coordinator's decision about one operation, or about several that are carried out as one. Each kind of decision
 * is a record that holds what the ranks need to know and nothing else. Ranks are numbered within the process set,
 * except where a component says global.
 */
public sealed interface Batch {
    /** The names of the operations. */
    List<String> names();

    /** A decision that the members of the set carry out. */
    sealed interface Run extends Batch {
        /** The request for which a rank stands in that has not submitted the operation at that place in the batch. */
        default Reducing.Allreduce standIn(int place) {
            throw new IllegalStateException(
                    "a plan names tensor \"" + names().get(place) + "\", which is not pending here");
        }
    }

    /** A run that needs no more than the data plane. */
    sealed interface Collective extends Run {
        /** Calls the method of {@code on} that carries out this kind, with what has been decided. */
        void carryOut(Carrier on);
    }

    /** Carries out agreed collectives on one rank; one method for each kind. */
    interface Carrier {
        void allreduce();

        /** Some ranks have joined, and stand in for all operations of the batch. */
        void allreduceOfSome();

        void reduceScatter();

        void reduce();

        void broadcast();

        /** @param rows number of rows that each rank brings */
        void allgather(List<Long> rows);

        /** @param rows number of rows that each rank brings */
        void gather(List<Long> rows);

        /** @param given type, shape and device of the root's tensor */
        void scatter(Request.Payload given);

        /** @param rows number of rows, by the rank that sends them and then by the rank that receives them */
        void alltoall(List<List<Long>> rows);

        /** This rank's half of a transfer. */
        void transfer();

        /** @param last the global rank that joined last */
        void joined(int last);
    }

    /** A collective of one operation. */
    sealed interface Single extends Collective {
        String name();

        @Override
        default List<String> names() {
            return List.of(name());
        }
    }

    /** A collective that concerns only the ranks that have asked for it. */
    sealed interface WhereAsked extends Single {}

    /** A collective whose average is divided by a number that must be the same on all ranks. */
    sealed interface Averaging extends Collective {
        int divisor();
    }

    /** A collective of one operation that the response cache may store together with the decision. */
    sealed interface Repeatable extends Single {
        boolean remember();
    }

    /**
     * An allreduce that all ranks have asked for; the response cache stores the requests.
     *
     * @param ops the operations in the order in which their tensors travel
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
        public void carryOut(Carrier on) {
            on.allreduce();
        }
    }

    /**
     * An allreduce while some ranks have joined; the response cache does not store it.
     *
     * @param asked the requests of the ranks that have asked, from which the joined ranks make their neutral elements
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
        public Reducing.Allreduce standIn(int place) {
            return asked.get(place);
        }

        @Override
        public void carryOut(Carrier on) {
            on.allreduceOfSome();
        }
    }

    /** @param remember true if the response cache stores the request */
    record Reducescatter(String name, int divisor, boolean remember) implements Averaging, Repeatable {
        @Override
        public void carryOut(Carrier on) {
            on.reduceScatter();
        }
    }

    record Reduce(String name, int divisor) implements Averaging, Single {
        @Override
        public void carryOut(Carrier on) {
            on.reduce();
        }
    }

    record Broadcast(List<String> names) implements Collective {
        public Broadcast {
            names = List.copyOf(names);
        }

        @Override
        public void carryOut(Carrier on) {
            on.broadcast();
        }
    }

    /**
     * @param rows number of rows that each rank brings
     * @param remember true if the response cache stores the request
     */
    record Allgather(String name, List<Long> rows, boolean remember) implements Repeatable {
        public Allgather {
            rows = List.copyOf(rows);
        }

        @Override
        public void carryOut(Carrier on) {
            on.allgather(rows);
        }
    }

    /** @param rows number of rows that each rank brings */
    record Gather(String name, List<Long> rows) implements Single {
        public Gather {
            rows = List.copyOf(rows);
        }

        @Override
        public void carryOut(Carrier on) {
            on.gather(rows);
        }
    }

    /** @param given type, shape and device of the root's tensor */
    record Scatter(String name, Request.Payload given) implements Single {
        @Override
        public void carryOut(Carrier on) {
            on.scatter(given);
        }
    }

    /**
     * @param rows number of rows, by the rank that sends them and then by the rank that receives them
     * @param remember true if the response cache stores the request
     */
    record Alltoall(String name, List<List<Long>> rows, boolean remember) implements Repeatable {
        public Alltoall {
            rows = rows.stream().map(List::copyOf).toList();
        }

        @Override
        public void carryOut(Carrier on) {
            on.alltoall(rows);
        }
    }

    /** A transfer that both of its ranks have asked for; no other rank takes part. */
    record Transfer(String name) implements WhereAsked {
        @Override
        public void carryOut(Carrier on) {
            on.transfer();
        }
    }

    /** A barrier, at which the ranks have met by asking for it; those that have joined need not ask. */
    record Barrier(String name) implements WhereAsked {
        @Override
        public void carryOut(Carrier on) {
            // The ranks have met already.
        }
    }

    /** @param last the global rank that joined last */
    record Join(String name, int last) implements Single {
        @Override
        public void carryOut(Carrier on) {
            on.joined(last);
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
    }

    /** @param members global ranks */
    record AddProcessSet(String name, int set, List<Integer> members) implements SetChange {
        public AddProcessSet {
            members = List.copyOf(members);
        }
    }

    record RemoveProcessSet(String name, int set) implements SetChange {}

    /**
     * A {@link Repeatable} batch that is the same as the last time.
     *
     * @param number the number of its request in the response cache
     */
    record Again(int number) implements Batch {
        /** Empty: each rank finds the name in its own response cache. */
        @Override
        public List<String> names() {
            return List.of();
        }
    }

    /**
     * An operation that is not carried out.
     *
     * @param error what is wrong
     * @param askers ranks whose operation fails; another rank may have asked for something new under this name
     *     meanwhile
     */
    record Refusal(String name, Reason reason, String error, List<Integer> askers) implements Batch {
        public Refusal {
            askers = List.copyOf(askers);
        }

        @Override
        public List<String> names() {
            return List.of(name);
        }

        /** The exception for the threads that wait for the operation. */
        public HvdException exception() {
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
