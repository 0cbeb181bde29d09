package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.PreparedOps;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.Membership;
import io.hvd.spi.OpKind;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Names and submits what is asked of a process set, on ranks that are members of it. */
final class CollectiveCalls {
    private final Membership membership;
    private final int id;
    private final List<Integer> ranks;
    private final int globalRank;
    private final boolean isMember;
    /**
     * The name of all joins. Joins are not counted, because the ranks have called different numbers of operations
     * before; a rank joins only once at a time.
     */
    private static final String JOIN = "join.noname";

    private final AtomicInteger joins = new AtomicInteger();
    /** The numbers given out so far, by kind. */
    private final Map<String, AtomicInteger> numbers = new ConcurrentHashMap<>();
    /** Operations without a name so far, by kind. */
    private final Map<String, AtomicLong> unnamed = new ConcurrentHashMap<>();

    private volatile boolean registered = true;

    CollectiveCalls(Membership membership, int id, List<Integer> ranks) {
        this.membership = membership;
        this.id = id;
        this.ranks = ranks;
        this.globalRank = membership.topology().rank();
        this.isMember = ranks.contains(globalRank);
    }

    int set() {
        return id;
    }

    /** Global ranks of the members. */
    List<Integer> ranks() {
        return ranks;
    }

    int globalRank() {
        return globalRank;
    }

    Engine engine() {
        return membership.engine();
    }

    /** The engine, for a call that needs an open context. */
    Engine open(String call) {
        return membership.open(call);
    }

    /** @return the rank that joined last */
    int join(JoinDivisor divisor) {
        boolean endedEarly = divisor == JoinDivisor.NONE; // on the ranks that have joined alone, so it does not count
        try {
            int last = submit(new Request.Join(JOIN, divisor)).number();
            endedEarly = false;
            return last;
        } finally {
            if (!endedEarly) {
                // the ranks have called different numbers of operations, so all of them start counting again
                unnamed.clear();
                joins.incrementAndGet();
            }
        }
    }

    /** The number of joins that are over. */
    int joins() {
        return joins.get();
    }

    /** The next number of this kind, from 1 on. */
    int numberOf(String kind) {
        return numbers.computeIfAbsent(kind, first -> new AtomicInteger()).incrementAndGet();
    }

    /** From here on every collective of this set is refused. */
    void unregister() {
        registered = false;
    }

    boolean isRegistered() {
        return registered;
    }

    /** The name, or the next one for an operation that has none. */
    String nameOr(String name, String operation) {
        return name != null
                ? name
                : operation + ".noname."
                        + unnamed.computeIfAbsent(operation, kind -> new AtomicLong())
                                .getAndIncrement();
    }

    /** An operation without tensors, for which the caller is going to wait. */
    Handle submit(Request request) {
        return submit(operation(request, null, null), true);
    }

    Handle submit(PendingOp one, boolean hurry) {
        if (!isUsable()) {
            refuse(one.request().kind() + " of \"" + one.name() + "\"");
        }
        membership.open(one.request().kind()).submit(one, hurry);
        return handle(one);
    }

    List<Handle> submit(List<PendingOp> all, boolean hurry) {
        requireMember(() -> "a group of collectives");
        membership.open("a group of collectives").submit(all, hurry);
        List<Handle> handles = new ArrayList<>(all.size());
        for (int i = 0; i < all.size(); i++) {
            handles.add(handle(all.get(i)));
        }
        return handles;
    }

    private Handle handle(PendingOp op) {
        boolean mustBeRead = op.request().kind() == OpKind.ALLREDUCE && !op.isInPlace();
        return new Handle(op, membership.engine(), mustBeRead ? membership.unreadResults() : null);
    }

    PendingOp operation(Request request, Tensor input, Tensor output) {
        return membership.engine().operation(id, ranks, placed(request, input), input, output);
    }

    /** The request with the device of its tensor, as all ranks know it. @param input null if this rank has none */
    Request placed(Request request, Tensor input) {
        return input == null ? request : request.on(membership.place(request.name(), input.device()));
    }

    /** @throws HvdException if nothing of this set can be started on this rank at the moment */
    void start(OpKind kind, List<PreparedOps> all) {
        openForPrepared(kind, all).start(all);
    }

    /** As {@link #start}, on a thread that is going to wait at once. */
    void startAwaited(OpKind kind, List<PreparedOps> all) {
        openForPrepared(kind, all).startAwaited(all);
    }

    private Engine openForPrepared(OpKind kind, List<PreparedOps> all) {
        if (!isUsable()) {
            refuse("a prepared " + kind + " of " + all.get(0).names());
        }
        return membership.open(kind);
    }

    /**
     * Prepares operations.
     *
     * @param requests by tensor, without the device
     * @param inPlace whether each tensor is overwritten with its result; otherwise every start makes new tensors
     */
    PreparedOps prepared(List<? extends Request> requests, List<Tensor> tensors, boolean inPlace) {
        List<Request> placed = new ArrayList<>();
        for (int i = 0; i < requests.size(); i++) {
            placed.add(placed(requests.get(i), tensors.get(i)));
        }
        Engine engine = open("a prepared collective");
        PreparedOps prepared = engine.prepare();
        for (int i = 0; i < placed.size(); i++) {
            engine.prepare(prepared, id, ranks, placed.get(i), tensors.get(i), inPlace ? tensors.get(i) : null);
        }
        return prepared;
    }

    /** @param call the call in words */
    void requireMember(Supplier<String> call) {
        if (!isUsable()) {
            refuse(call.get());
        }
    }

    private boolean isUsable() {
        return registered && isMember;
    }

    private void refuse(String call) {
        if (!registered) {
            throw new HvdException(
                    ErrorId.UNKNOWN_PROCESS_SET,
                    call + " on rank " + globalRank + ": process set " + id + " of ranks " + ranks
                            + " is not registered; it has been removed");
        }
        throw new HvdException(
                ErrorId.NOT_A_MEMBER,
                call + " on rank " + globalRank + ", which is not in process set " + id + " of ranks " + ranks);
    }

    static List<Tensor> synchronize(List<Handle> handles) {
        return handles.stream().map(Handle::synchronize).toList();
    }

    /** Makes the tensor for the result; null on a GPU, where the back end makes it. */
    static Tensor outputLike(Tensor tensor) {
        return tensor.device().isCpu() ? Tensor.zeros(tensor.dtype(), tensor.shape()) : null;
    }

    /** Names the operations of a group one after the other. */
    static final class Group {
        private final Request.Group asked;
        private int next;

        Group(String name, int members) {
            this.asked = new Request.Group(name, members);
        }

        Request.Group asked() {
            return asked;
        }

        String next() {
            return asked.name() + "." + next++;
        }
    }
}
