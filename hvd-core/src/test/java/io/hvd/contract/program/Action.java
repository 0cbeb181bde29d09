package io.hvd.contract.program;

import java.util.List;

/**
 * The next action of a thread of a rank.
 *
 * @param strand of the program; what belongs to one comes and goes together
 * @param op operation, number of a refused call, or number of a thread
 * @param amount milliseconds, or which way to wait
 * @param body of a thread that begins; else empty
 */
public record Action(Act act, int strand, int op, int amount, List<Action> body) {
    public enum Act {
        /** Asks for an operation and waits for it, in one call. */
        CALL,
        /** Asks for it and goes on. */
        START,
        /** Waits for what was started. */
        FINISH,
        /** Computes, which is sleeping here. */
        COMPUTE,
        /** The rank computes and announces that as a phase. */
        PHASE,
        /** A call that cannot be right throws at once, before any rank learns of it. */
        REFUSED,
        /** The name of an operation on its way is refused. */
        DUPLICATE,
        /** Another thread of the rank begins. */
        FORK,
        /** It ends. */
        AWAIT_FORK
    }

    /** Ways to wait. */
    public static final int SYNCHRONIZE = 0;

    public static final int POLL = 1;
    public static final int CALLBACK = 2;

    static Action call(int strand, Op op) {
        return new Action(Act.CALL, strand, op.id(), 0, List.of());
    }

    static Action start(int strand, Op op) {
        return new Action(Act.START, strand, op.id(), 0, List.of());
    }

    static Action finish(int strand, Op op, int way) {
        return new Action(Act.FINISH, strand, op.id(), way, List.of());
    }

    static Action compute(int strand, int millis, boolean phase) {
        return new Action(phase ? Act.PHASE : Act.COMPUTE, strand, 0, millis, List.of());
    }

    static Action refused(int strand, int variant, int set) {
        return new Action(Act.REFUSED, strand, variant, set, List.of());
    }

    static Action duplicate(int strand, Op op, int variant) {
        return new Action(Act.DUPLICATE, strand, op.id(), variant, List.of());
    }

    static Action fork(int strand, int number, List<Action> body) {
        return new Action(Act.FORK, strand, number, 0, body);
    }

    static Action awaitFork(int strand, int number) {
        return new Action(Act.AWAIT_FORK, strand, number, 0, List.of());
    }

    /** Whether it is about an operation of the program. */
    boolean isOfOp() {
        return act == Act.CALL || act == Act.START || act == Act.FINISH || act == Act.DUPLICATE;
    }

    @Override
    public String toString() {
        return switch (act) {
            case CALL -> "call #" + op;
            case START -> "start #" + op;
            case FINISH -> (amount == POLL ? "poll #" : amount == CALLBACK ? "be called back by #" : "await #") + op;
            case COMPUTE -> "compute " + amount + " ms";
            case PHASE -> "compute " + amount + " ms in a phase";
            case REFUSED -> "refused call " + op + " in set " + amount;
            case DUPLICATE -> "#" + op + " a second time";
            case FORK -> "thread " + op + " " + body;
            case AWAIT_FORK -> "await thread " + op;
        };
    }
}
