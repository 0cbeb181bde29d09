package io.hvd.engine;

import io.hvd.engine.Plan.Op;
import io.hvd.trace.Call;
import io.hvd.trace.CallSite;
import java.util.List;

/**
 * A name in a process set as this rank uses it, from its first operation on: what was asked for last, from which line of
 * the program, under which number the response cache knows it, and where it stands in the static plan. An operation finds
 * its slot once, and a prepared one keeps it, so that nothing is looked up by name afterwards.
 */
public final class Slot {
    static final int NOT_PLANNED = -1;

    private final int set;
    private final String name;
    private volatile Asked asked;

    // The queue's, under its lock.
    /** Null when nothing of that name is under way. */
    PendingOp pending;
    /** How many prepared collectives keep this slot. */
    int keepers;
    /** No longer found by its name: whoever has found it before must look again. */
    boolean retired;

    // Written by whoever has the turn.
    /** In the response cache, or {@link Op#UNKNOWN}. */
    private volatile int number = Op.UNKNOWN;

    private Request remembered;

    private volatile int batch = NOT_PLANNED;
    private int place;

    Slot(int set, String name) {
        this.set = set;
        this.name = name;
    }

    /** What has been asked for under this name, and where. */
    record Asked(Request request, Call.Operation operation, String site) {}

    int set() {
        return set;
    }

    public String name() {
        return name;
    }

    /** What was asked for last; null before the first time. It saves the caller from making the same request again. */
    public Request lastRequest() {
        Asked last = asked;
        return last == null ? null : last.request();
    }

    /**
     * The program asks for something under this name. Finding the line that calls costs more than the rest of a submission.
     * A call with the same request as the last one is therefore taken to come from the same line.
     *
     * @param members global ranks that take part
     * @param everyLine whether the line is looked for each time all the same
     */
    Asked ask(Request request, List<Integer> members, boolean everyLine) {
        Asked last = asked;
        if (last != null
                && !everyLine
                && (last.request() == request || last.request().equals(request))) {
            return last;
        }
        Asked now = new Asked(request, operation(request, members), CallSite.current());
        asked = now;
        return now;
    }

    private Call.Operation operation(Request request, List<Integer> members) {
        return new Call.Operation(request.kind().toString(), name, request.detail(), set, members);
    }

    /** The response cache takes up what is asked for here. */
    void remember(int itsNumber, Request request) {
        number = itsNumber;
        remembered = request;
    }

    /** The response cache has no room for it any more. */
    void forget(int itsNumber) {
        if (number == itsNumber) {
            number = Op.UNKNOWN;
            remembered = null;
        }
    }

    boolean isRemembered() {
        return number != Op.UNKNOWN;
    }

    /** The number under which every rank knows this request, or {@link Op#UNKNOWN}. */
    int numberOf(Request request) {
        return remembered == request || (remembered != null && remembered.equals(request)) ? number : Op.UNKNOWN;
    }

    /** As the response cache has it. */
    Request remembered() {
        return remembered;
    }

    /** From here on the operation belongs to that batch of the static plan. */
    void plan(int itsBatch, int placeInBatch) {
        place = placeInBatch;
        batch = itsBatch;
    }

    void leavePlan() {
        batch = NOT_PLANNED;
    }

    /** Any thread may ask. */
    boolean isPlanned() {
        return batch != NOT_PLANNED;
    }

    int batch() {
        return batch;
    }

    int placeInBatch() {
        return place;
    }
}
