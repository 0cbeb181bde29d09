package io.hvd;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.spi.OpKind;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Builds what moves the tensors of a process set's ranks as they are: gathers, broadcasts, scatters, alltoalls and
 * transfers. Allreduces of sparse rows are among them: every rank gathers the indices and the rows of all, and nothing
 * is added up.
 */
final class MovementCalls {
    /** The number of elements that are divided at a time. */
    private static final int PIECE = 1 << 12;

    private final CollectiveCalls calls;
    private final CallArguments arguments;

    MovementCalls(CollectiveCalls calls, CallArguments arguments) {
        this.calls = calls;
        this.arguments = arguments;
    }

    Handle allgathering(String name, Tensor input, boolean hurry) {
        arguments.requireRows(name, OpKind.ALLGATHER, input);
        Request request = Request.allgather(calls.nameOr(name, "allgather"), input, Request.Group.NONE);
        return calls.submit(calls.operation(request, input, null), hurry);
    }

    Handle allgathering(String name, Tensor input, Tensor output) {
        arguments.requireRows(name, OpKind.ALLGATHER, input);
        arguments.requireLike(
                name,
                OpKind.ALLGATHER,
                input,
                output,
                input.shape().dim(0) * calls.ranks().size());
        Request request = Request.allgather(calls.nameOr(name, "allgather"), input, Request.Group.NONE);
        return calls.submit(calls.operation(request, input, output), false);
    }

    List<Handle> groupedAllgathering(String name, List<Tensor> inputs) {
        inputs.forEach(input -> arguments.requireRows(name, OpKind.ALLGATHER, input));
        CollectiveCalls.Group group = new CollectiveCalls.Group(calls.nameOr(name, "grouped_allgather"), inputs.size());
        List<PendingOp> all = inputs.stream()
                .map(input -> calls.operation(Request.allgather(group.next(), input, group.asked()), input, null))
                .toList();
        return calls.submit(all, true);
    }

    /** @return a handle for the indices and one for the rows */
    List<Handle> allreducingRows(String name, Tensor indices, Tensor values, ReduceOp op) {
        arguments.requireSparse(name, indices, values, op);
        int size = calls.ranks().size();
        Tensor parts = op == ReduceOp.AVERAGE && size > 1 ? divided(name, values, size) : values;
        return groupedAllgathering(name, List.of(indices, parts));
    }

    /** This rank's part of the average, in new memory. */
    private Tensor divided(String name, Tensor values, int size) {
        if (!values.device().isCpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "sparseAllreduce of \"" + name + "\": AVERAGE of " + values + " on " + values.device()
                            + ", where hvd gathers rows and divides none: expected SUM, of values divided by " + size);
        }
        Tensor parts = Tensor.zeros(values.dtype(), values.shape());
        DType wide = values.dtype() == DType.FLOAT64 ? DType.FLOAT64 : DType.FLOAT32;
        Converter converter = new Converter();
        ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CONVERSION, PIECE * Double.BYTES);
        for (long from = 0; from < values.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, values.elements() - from);
            converter.pack(values, from, count, stage, 0, wide, 1.0 / size);
            converter.unpack(stage, 0, wide, parts, from, count, Scale.ONE);
        }
        return parts;
    }

    Handle broadcasting(String name, Tensor input, Tensor output, int root, boolean hurry) {
        int place = arguments.requireRoot(OpKind.BROADCAST, name, root);
        Request request = Request.broadcast(calls.nameOr(name, "broadcast"), input, place);
        return calls.submit(calls.operation(request, input, output), hurry);
    }

    PreparedCollective preparingBroadcasts(List<String> names, List<Tensor> tensors, int root) {
        calls.requireMember(() -> "a prepared broadcast of " + names);
        arguments.requirePrepares(OpKind.BROADCAST, names, tensors);
        int place = arguments.requireRoot(OpKind.BROADCAST, names.toString(), root);
        List<Request> requests = IntStream.range(0, names.size())
                .mapToObj(i -> Request.broadcast(names.get(i), tensors.get(i), place))
                .toList();
        return new PreparedCollective(OpKind.BROADCAST, calls, calls.engine(), calls.prepared(requests, tensors, true));
    }

    PreparedCollective preparingGathers(List<String> names, List<Tensor> tensors) {
        calls.requireMember(() -> "a prepared allgather of " + names);
        arguments.requirePrepares(OpKind.ALLGATHER, names, tensors);
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            arguments.requireRows(names.get(i), OpKind.ALLGATHER, tensors.get(i));
            requests.add(Request.allgather(names.get(i), tensors.get(i), Request.Group.NONE));
        }
        return new PreparedCollective(
                OpKind.ALLGATHER, calls, calls.engine(), calls.prepared(requests, tensors, false));
    }

    Handle exchanging(String name, Tensor input, long[] splits) {
        List<Long> rows = Arrays.stream(splits).boxed().toList();
        Request request = Request.alltoall(calls.nameOr(name, "alltoall"), input, rows);
        return calls.submit(calls.operation(request, input, null), true);
    }

    Handle gathering(String name, Tensor input, int root, boolean hurry) {
        int place = arguments.requireRoot(OpKind.GATHER, name, root);
        arguments.requireRows(name, OpKind.GATHER, input);
        Request request = Request.gather(calls.nameOr(name, "gather"), input, place);
        return calls.submit(calls.operation(request, input, null), hurry);
    }

    /** @param given looked at on the root only */
    Handle scattering(String name, Tensor given, int root, boolean hurry) {
        int place = arguments.requireRoot(OpKind.SCATTER, name, root);
        Tensor mine = root == calls.globalRank() ? Objects.requireNonNull(given, "the root's tensor") : null;
        if (mine != null) {
            arguments.requireRows(name, OpKind.SCATTER, mine);
        }
        Request request = Request.scatter(calls.nameOr(name, "scatter"), mine, place);
        return calls.submit(calls.operation(request, mine, null), hurry);
    }

    Handle sending(Tensor tensor, int to, int tag) {
        return transfer(OpKind.SEND, tensor, List.of(calls.globalRank(), to), to, tag);
    }

    Handle receiving(Tensor tensor, int from, int tag) {
        return transfer(OpKind.RECEIVE, tensor, List.of(from, calls.globalRank()), from, tag);
    }

    /** @param ends the rank that sends and the one that receives */
    private Handle transfer(OpKind half, Tensor tensor, List<Integer> ends, int peer, int tag) {
        int place = arguments.requirePeer(half, peer);
        String name = "rank " + ends.get(0) + " to rank " + ends.get(1) + ", tag " + tag;
        Request request =
                half == OpKind.SEND ? Request.send(name, tensor, place) : Request.receive(name, tensor, place);
        return calls.submit(
                calls.engine().operation(calls.set(), ends, calls.placed(request, tensor), tensor, null), true);
    }
}
