package io.hvd.engine.submission;

import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.Request;
import io.hvd.trace.Call;
import io.hvd.trace.CallSite;
import java.util.List;

/**
 * A name in a process set as this rank uses it, from its first operation on: the last request, the program's line that
 * made it, its number in the response cache, and its place in the static plan. An operation finds its slot once, and a
 * prepared operation keeps it, so that nothing is looked up by name afterwards.
 */
public final class Slot {
    public static final int NOT_PLANNED = -1;

    private final int set;
    private final String name;
    private volatile Asked asked;

    // The following fields belong to the queue, whose lock guards them.
    /** The operation of this name that is under way, or null. */
    PendingOp pending;
    /** The number of prepared collectives that keep this slot. */
    int keepers;
    /** Whether it is no longer found by its name, so that a thread that has found it before must look again. */
    boolean retired;

    // Only the thread that has the turn writes the following fields.
    /** The request's number in the response cache, or {@link Op#UNKNOWN}. */
    private volatile int number = Op.UNKNOWN;

    private Request remembered;

    private volatile int batch = NOT_PLANNED;
    private int place;

    Slot(int set, String name) {
        this.set = set;
        this.name = name;
    }

    /** The last request under this name, and the program's line that made it. */
    record Asked(Request request, Call.Operation operation, String site) {}

    int set() {
        return set;
    }

    public String name() {
        return name;
    }

    /** The last request; null before the first one. It saves the caller from making the same request again. */
    public Request lastRequest() {
        Asked last = asked;
        return last == null ? null : last.request();
    }

    /**
     * The program asks for something under this name. Finding the calling line costs more than the rest of a
     * submission, so a call with the same request as the last one is taken to come from the same line.
     *
     * @param members global ranks that take part
     * @param everyLine whether the line is found each time nevertheless
     */
    public Asked ask(Request request, List<Integer> members, boolean everyLine) {
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

    /** The response cache stores the request. */
    public void remember(int itsNumber, Request request) {
        number = itsNumber;
        remembered = request;
    }

    /** The response cache has dropped the request. */
    public void forget(int itsNumber) {
        if (number == itsNumber) {
            number = Op.UNKNOWN;
            remembered = null;
        }
    }

    boolean isRemembered() {
        return number != Op.UNKNOWN;
    }

    /** The number under which every rank knows this request, or {@link Op#UNKNOWN}. */
    public int numberOf(Request request) {
        return remembered == request || (remembered != null && remembered.equals(request)) ? number : Op.UNKNOWN;
    }

    /** The request that the response cache has, or null. */
    public Request remembered() {
        return remembered;
    }

    /** From here on the operation belongs to that batch of the static plan. */
    public void plan(int itsBatch, int placeInBatch) {
        place = placeInBatch;
        batch = itsBatch;
    }

    public void leavePlan() {
        batch = NOT_PLANNED;
    }

    /** Whether it belongs to the static plan; any thread may ask. */
    public boolean isPlanned() {
        return batch != NOT_PLANNED;
    }

    public int batch() {
        return batch;
    }

    public int placeInBatch() {
        return place;
    }
}
