package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.PendingOp;
import io.hvd.engine.PreparedOps;
import io.hvd.engine.Reducing;
import io.hvd.engine.Request;
import io.hvd.engine.Slot;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Builds, checks and submits what is asked of a process set; {@link ProcessSet} is its face. */
final class CollectiveCalls {
    private final Membership membership;
    private final int id;
    private final List<Integer> ranks;
    private final int globalRank;
    private final boolean isMember;
    private final WireTypes wireTypes;
    /** How many operations of each kind have had no name so far. */
    private final Map<String, AtomicLong> unnamed = new ConcurrentHashMap<>();

    private volatile boolean registered = true;

    CollectiveCalls(Membership membership, int id, List<Integer> ranks) {
        this.membership = membership;
        this.id = id;
        this.ranks = ranks;
        this.globalRank = membership.topology().rank();
        this.isMember = ranks.contains(globalRank);
        this.wireTypes = membership.wireTypes(ranks);
    }

    /** After a join the ranks have called a different number of operations; from here on they count alike again. */
    void countAnew() {
        unnamed.clear();
    }

    /** From here on every collective of this set is refused. */
    void unregister() {
        registered = false;
    }

    Handle submit(PendingOp one, boolean hurry) {
        if (!isUsable()) {
            refuse(one.request().kind() + " of \"" + one.name() + "\"");
        }
        membership.open(one.request().kind()).submit(one, hurry);
        return handle(one);
    }

    PendingOp operation(Request request, Tensor input, Tensor output) {
        return membership.engine().operation(id, ranks, placed(request, input), input, output);
    }

    private Request placed(Request request, Tensor input) {
        return input == null ? request : request.on(membership.place(request.name(), input.device()));
    }

    String nameOr(String name, String operation) {
        return name != null
                ? name
                : operation + ".noname."
                        + unnamed.computeIfAbsent(operation, kind -> new AtomicLong())
                                .getAndIncrement();
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

    Handle reduction(String name, OpKind kind, Tensor input, Tensor output, AllreduceOptions options, boolean hurry) {
        return submit(reducing(name, kind, input, output, options, 0), hurry);
    }

    /** If the last operation of that name asked for the same, its request is used again, and what it has passed is not checked again. */
    private PendingOp reducing(
            String name, OpKind kind, Tensor input, Tensor output, AllreduceOptions options, int root) {
        Objects.requireNonNull(input, "tensor");
        if (name == null) {
            requireReduces(null, kind, input, options); // a call that fails must not count on this rank alone
        }
        Engine engine = membership.engine();
        Slot slot = engine.slot(id, nameOr(name, kind.toString()));
        DType wire = wireTypes.of(input, options.compression());
        Request request = slot.lastRequest() instanceof Reducing last
                        && last.isReduction(kind, input, root)
                        && last.how().is(options.op(), wire, options.prescale(), options.postscale())
                ? last
                : placed(reductionRequest(slot.name(), kind, input, options, root), input);
        return engine.operation(slot, ranks, request, input, output);
    }

    /** @param name as the ranks know it */
    private Request reductionRequest(String name, OpKind kind, Tensor input, AllreduceOptions options, int root) {
        return Request.reduction(name, kind, input, reduction(name, kind, input, options), root);
    }

    private Reduction reduction(String name, OpKind kind, Tensor input, AllreduceOptions options) {
        requireReduces(name, kind, input, options);
        DType wire = wireTypes.of(input, options.compression());
        return new Reduction(options.op(), wire, options.prescale(), options.postscale());
    }

    /** In-place allreduces that are announced together. @param tensors by name */
    List<Handle> allreducing(Map<String, Tensor> tensors, AllreduceOptions options) {
        List<PendingOp> all = new ArrayList<>(tensors.size());
        tensors.forEach((name, tensor) -> all.add(reducing(name, OpKind.ALLREDUCE, tensor, tensor, options, 0)));
        return submit(all, true);
    }

    PreparedAllreduce preparing(List<String> names, List<Tensor> tensors, AllreduceOptions options) {
        if (names.size() != tensors.size()) {
            throw bad(OpKind.ALLREDUCE, null, names.size() + " names are given for " + tensors.size() + " tensors");
        }
        requireMember(() -> "a prepared allreduce of " + names);
        List<Request> requests = new ArrayList<>();
        Set<String> distinct = new HashSet<>();
        for (int i = 0; i < names.size(); i++) {
            String name = Objects.requireNonNull(names.get(i), "name");
            if (!distinct.add(name)) {
                throw bad(OpKind.ALLREDUCE, name, "it is to be prepared twice in one group");
            }
            requests.add(placed(reductionRequest(name, OpKind.ALLREDUCE, tensors.get(i), options, 0), tensors.get(i)));
        }
        Engine engine = membership.open("a prepared allreduce");
        PreparedOps prepared = engine.prepare();
        for (int i = 0; i < names.size(); i++) {
            engine.prepare(prepared, id, ranks, requests.get(i), tensors.get(i));
        }
        return new PreparedAllreduce(this, engine, prepared);
    }

    /** @throws HvdException if nothing of this set can be started on this rank at the moment */
    void start(List<PreparedOps> all) {
        if (!isUsable()) {
            refuse("a prepared allreduce of " + all.get(0).names());
        }
        membership.open(OpKind.ALLREDUCE).start(all);
    }

    private void requireReduces(String name, OpKind kind, Tensor input, AllreduceOptions options) {
        Objects.requireNonNull(input, "tensor");
        if (options.op() == ReduceOp.ADASUM) {
            throw new HvdException(ErrorId.UNSUPPORTED, kind + " of " + name + ": ADASUM is not there yet");
        }
        input.dtype().refuses(options.op()).ifPresent(why -> {
            throw bad(kind, name, why);
        });
        if (options.prescale() != 1 || options.postscale() != 1) {
            input.dtype().refusesScaling().ifPresent(why -> {
                throw bad(kind, name, why);
            });
        }
    }

    /** @param outputs null where the operations make them */
    List<Handle> grouped(
            String name, OpKind kind, List<Tensor> inputs, List<Tensor> outputs, AllreduceOptions options) {
        if (inputs.stream().map(Tensor::device).distinct().count() > 1) {
            throw bad(
                    kind,
                    name,
                    "the tensors of a group lie on different devices: "
                            + inputs.stream().map(Tensor::device).distinct().toList());
        }
        // All of them before the group gets its name: a call that fails here must not count on this rank alone.
        inputs.forEach(input -> requireReduces(name, kind, input, options));
        Group group = new Group(nameOr(name, "grouped_" + kind), inputs.size());
        List<PendingOp> all = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            String member = group.next();
            Reduction how = reduction(member, kind, inputs.get(i), options);
            Request request = Request.grouped(member, kind, inputs.get(i), how, group.asked());
            all.add(operation(request, inputs.get(i), outputs == null ? null : outputs.get(i)));
        }
        return submit(all, true);
    }

    Handle gathering(String name, Tensor input, boolean hurry) {
        requireRows(name, OpKind.ALLGATHER, input);
        return submit(
                operation(Request.allgather(nameOr(name, "allgather"), input, Request.Group.NONE), input, null), hurry);
    }

    List<Handle> groupedGathering(String name, List<Tensor> inputs) {
        inputs.forEach(input -> requireRows(name, OpKind.ALLGATHER, input));
        Group group = new Group(nameOr(name, "grouped_allgather"), inputs.size());
        List<PendingOp> all = inputs.stream()
                .map(input -> operation(Request.allgather(group.next(), input, group.asked()), input, null))
                .toList();
        return submit(all, true);
    }

    Handle broadcasting(String name, Tensor input, Tensor output, int root, boolean hurry) {
        int place = requireRoot(OpKind.BROADCAST, name, root);
        return submit(operation(Request.broadcast(nameOr(name, "broadcast"), input, place), input, output), hurry);
    }

    Handle exchanging(String name, Tensor input, long[] splits) {
        List<Long> rows = Arrays.stream(splits).boxed().toList();
        return submit(operation(Request.alltoall(nameOr(name, "alltoall"), input, rows), input, null), true);
    }

    Handle scattering(String name, Tensor input, AllreduceOptions options, boolean hurry) {
        requireScatters(name, input, options);
        return reduction(name, OpKind.REDUCESCATTER, input, null, options, hurry);
    }

    Handle reducing(String name, Tensor input, AllreduceOptions options, int root, boolean hurry) {
        int place = requireRoot(OpKind.REDUCE, name, root);
        Tensor output = root == globalRank ? outputLike(input) : null;
        return submit(reducing(name, OpKind.REDUCE, input, output, options, place), hurry);
    }

    Handle collecting(String name, Tensor input, int root, boolean hurry) {
        int place = requireRoot(OpKind.GATHER, name, root);
        requireRows(name, OpKind.GATHER, input);
        return submit(operation(Request.gather(nameOr(name, "gather"), input, place), input, null), hurry);
    }

    /** @param given looked at on the root only */
    Handle spreading(String name, Tensor given, int root, boolean hurry) {
        int place = requireRoot(OpKind.SCATTER, name, root);
        Tensor mine = root == globalRank ? Objects.requireNonNull(given, "the root's tensor") : null;
        if (mine != null) {
            requireRows(name, OpKind.SCATTER, mine);
        }
        return submit(operation(Request.scatter(nameOr(name, "scatter"), mine, place), mine, null), hurry);
    }

    Handle transfer(OpKind half, Tensor tensor, int from, int to, int peer, int tag) {
        int place = ranks.indexOf(peer);
        if (place < 0 || peer == globalRank) {
            throw bad(
                    half, null, "rank " + peer + (peer == globalRank ? " is this rank itself" : " is not in " + ranks));
        }
        String name = "rank " + from + " to rank " + to + ", tag " + tag;
        Request request =
                half == OpKind.SEND ? Request.send(name, tensor, place) : Request.receive(name, tensor, place);
        return submit(
                membership.engine().operation(id, List.of(from, to), placed(request, tensor), tensor, null), true);
    }

    /** @param call in words */
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

    int requireRoot(OpKind kind, String name, int root) {
        int place = ranks.indexOf(root);
        if (place < 0) {
            throw bad(kind, name, "root rank " + root + " is not in process set " + id + " of ranks " + ranks);
        }
        return place;
    }

    void requireRows(String name, OpKind kind, Tensor tensor) {
        if (tensor.shape().rank() == 0) {
            throw bad(kind, name, "the tensor is a scalar, it needs at least one dimension");
        }
    }

    void requireScatters(String name, Tensor tensor, AllreduceOptions options) {
        requireRows(name, OpKind.REDUCESCATTER, tensor);
        if (options.op() != ReduceOp.SUM && options.op() != ReduceOp.AVERAGE) {
            throw bad(
                    OpKind.REDUCESCATTER,
                    name,
                    "the reduce operation is " + options.op() + ", expected SUM or AVERAGE");
        }
    }

    HvdException bad(OpKind kind, String name, String why) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT,
                kind + (name == null ? "" : " of \"" + name + "\"") + " on rank " + globalRank + ": " + why);
    }

    static List<Tensor> synchronize(List<Handle> handles) {
        return handles.stream().map(Handle::synchronize).toList();
    }

    /** Where the result goes; on a GPU the back end makes it. */
    static Tensor outputLike(Tensor tensor) {
        return tensor.device().isCpu() ? Tensor.zeros(tensor.dtype(), tensor.shape()) : null;
    }

    /** Names the operations of a group one after the other. */
    private static final class Group {
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
