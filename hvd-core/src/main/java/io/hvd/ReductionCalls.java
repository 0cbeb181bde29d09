package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Builds what combines the tensors of a process set's ranks: allreduces, reducescatters and reduces. */
final class ReductionCalls {
    private final CollectiveCalls calls;
    private final CallArguments arguments;
    private final WireTypes wireTypes;

    ReductionCalls(CollectiveCalls calls, CallArguments arguments, WireTypes wireTypes) {
        this.calls = calls;
        this.arguments = arguments;
        this.wireTypes = wireTypes;
    }

    /** Into a new tensor. */
    Handle allreducing(String name, Tensor input, AllreduceOptions options, boolean hurry) {
        return allreducing(name, input, CollectiveCalls.outputLike(input), options, hurry);
    }

    Handle allreducing(String name, Tensor input, Tensor output, AllreduceOptions options, boolean hurry) {
        return calls.submit(operation(name, OpKind.ALLREDUCE, input, output, options, 0), hurry);
    }

    /** In-place allreduces that are announced together. @param tensors the tensors by their names */
    List<Handle> allreducing(Map<String, Tensor> tensors, AllreduceOptions options) {
        List<PendingOp> all = new ArrayList<>(tensors.size());
        tensors.forEach((name, tensor) -> all.add(operation(name, OpKind.ALLREDUCE, tensor, tensor, options, 0)));
        return calls.submit(all, true);
    }

    Handle scattering(String name, Tensor input, AllreduceOptions options, boolean hurry) {
        arguments.requireScatters(name, input, options);
        return calls.submit(operation(name, OpKind.REDUCESCATTER, input, null, options, 0), hurry);
    }

    Handle scattering(String name, Tensor input, Tensor output, AllreduceOptions options) {
        arguments.requireScatters(name, input, options);
        arguments.requireEqualParts(name, input);
        arguments.requireLike(
                name,
                OpKind.REDUCESCATTER,
                input,
                output,
                input.shape().dim(0) / calls.ranks().size());
        return calls.submit(operation(name, OpKind.REDUCESCATTER, input, output, options, 0), false);
    }

    Handle reducing(String name, Tensor input, AllreduceOptions options, int root, boolean hurry) {
        int place = arguments.requireRoot(OpKind.REDUCE, name, root);
        Tensor output = root == calls.globalRank() ? CollectiveCalls.outputLike(input) : null;
        return calls.submit(operation(name, OpKind.REDUCE, input, output, options, place), hurry);
    }

    List<Handle> groupedScattering(String name, List<Tensor> inputs, AllreduceOptions options) {
        inputs.forEach(input -> arguments.requireScatters(name, input, options));
        return grouped(name, OpKind.REDUCESCATTER, inputs, null, options);
    }

    /** @param outputs null where the operations make them */
    List<Handle> grouped(
            String name, OpKind kind, List<Tensor> inputs, List<Tensor> outputs, AllreduceOptions options) {
        arguments.requireOneDevice(name, kind, inputs);
        // All of them before the group gets its name: a call that fails here must not count on this rank alone.
        inputs.forEach(input -> arguments.requireReduces(name, kind, input, options));
        CollectiveCalls.Group group = new CollectiveCalls.Group(calls.nameOr(name, "grouped_" + kind), inputs.size());
        List<PendingOp> all = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            Request request = Request.grouped(group.next(), kind, input, reduction(input, options), group.asked());
            all.add(calls.operation(request, input, outputs == null ? null : outputs.get(i)));
        }
        return calls.submit(all, true);
    }

    PreparedAllreduce preparing(List<String> names, List<Tensor> tensors, List<AllreduceOptions> options) {
        calls.requireMember(() -> "a prepared allreduce of " + names);
        arguments.requirePrepares(OpKind.ALLREDUCE, names, tensors);
        if (options.size() != tensors.size()) {
            throw arguments.bad(
                    OpKind.ALLREDUCE, null, options.size() + " options are given for " + tensors.size() + " tensors");
        }
        List<Request> requests = requests(OpKind.ALLREDUCE, names, tensors, options);
        return new PreparedAllreduce(calls, calls.engine(), calls.prepared(requests, tensors, true));
    }

    PreparedCollective preparingScatters(List<String> names, List<Tensor> tensors, AllreduceOptions options) {
        calls.requireMember(() -> "a prepared reducescatter of " + names);
        arguments.requirePrepares(OpKind.REDUCESCATTER, names, tensors);
        for (int i = 0; i < names.size(); i++) {
            arguments.requireScatters(names.get(i), tensors.get(i), options);
        }
        List<Request> requests =
                requests(OpKind.REDUCESCATTER, names, tensors, Collections.nCopies(tensors.size(), options));
        return new PreparedCollective(
                OpKind.REDUCESCATTER, calls, calls.engine(), calls.prepared(requests, tensors, false));
    }

    private List<Request> requests(
            OpKind kind, List<String> names, List<Tensor> tensors, List<AllreduceOptions> options) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            requests.add(request(names.get(i), kind, tensors.get(i), options.get(i), 0));
        }
        return requests;
    }

    /** If the last operation of that name asked for the same, its request is used again, and what it has passed is not checked again. */
    private PendingOp operation(
            String name, OpKind kind, Tensor input, Tensor output, AllreduceOptions options, int root) {
        Objects.requireNonNull(input, "tensor");
        if (name == null) {
            // A call that fails must not count on this rank alone.
            arguments.requireReduces(null, kind, input, options);
        }
        Engine engine = calls.engine();
        Slot slot = engine.slot(calls.set(), calls.nameOr(name, kind.toString()));
        DType wire = wireTypes.of(input, options.compression());
        Request request = slot.lastRequest() instanceof Reducing last
                        && last.isReduction(kind, input, root)
                        && last.how().is(options.op(), wire, options.prescale(), options.postscale())
                ? last
                : calls.placed(request(slot.name(), kind, input, options, root), input);
        return engine.operation(slot, calls.ranks(), request, input, output);
    }

    /**
     * @param name the name by which the ranks know it
     * @param root the root of a reduce; no other kind has one
     */
    private Request request(String name, OpKind kind, Tensor input, AllreduceOptions options, int root) {
        arguments.requireReduces(name, kind, input, options);
        Reduction how = reduction(input, options);
        return kind == OpKind.REDUCE
                ? Request.reduce(name, input, how, root)
                : Request.reduction(name, kind, input, how);
    }

    private Reduction reduction(Tensor input, AllreduceOptions options) {
        DType wire = wireTypes.of(input, options.compression());
        return new Reduction(options.op(), wire, options.prescale(), options.postscale());
    }
}
