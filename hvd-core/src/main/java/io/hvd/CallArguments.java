package io.hvd;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.OpKind;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Checks what a rank asks of a process set, before anything is submitted; a call that fails here counts on no rank. */
final class CallArguments {
    private final int set;
    private final List<Integer> ranks;
    private final int globalRank;

    /** @param globalRank this rank */
    CallArguments(int set, List<Integer> ranks, int globalRank) {
        this.set = set;
        this.ranks = ranks;
        this.globalRank = globalRank;
    }

    /** @return the root's place in the set */
    int requireRoot(OpKind kind, String name, int root) {
        int place = ranks.indexOf(root);
        if (place < 0) {
            throw bad(kind, name, "root rank " + root + " is not in process set " + set + " of ranks " + ranks);
        }
        return place;
    }

    /** @return the place in the set of the other rank of a transfer */
    int requirePeer(OpKind half, int peer) {
        int place = ranks.indexOf(peer);
        if (place < 0 || peer == globalRank) {
            throw bad(
                    half, null, "rank " + peer + (peer == globalRank ? " is this rank itself" : " is not in " + ranks));
        }
        return place;
    }

    void requireRows(String name, OpKind kind, Tensor tensor) {
        if (tensor.shape().rank() == 0) {
            throw bad(kind, name, "the tensor is a scalar, it needs at least one dimension");
        }
    }

    void requireReduces(String name, OpKind kind, Tensor input, AllreduceOptions options) {
        Objects.requireNonNull(input, "tensor");
        if (options.op() == ReduceOp.ADASUM) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    kind + " of " + name + ": ADASUM is done by an optimizer"
                            + " (DistributedOptimizer with op ADASUM) or by io.hvd.optimizer.Adasum, not by a collective");
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

    /** @throws HvdException if these cannot be the names of a prepared collective's tensors */
    void requirePrepares(OpKind kind, List<String> names, List<Tensor> tensors) {
        if (names.size() != tensors.size()) {
            throw bad(kind, null, names.size() + " names are given for " + tensors.size() + " tensors");
        }
        Set<String> distinct = new HashSet<>();
        for (int i = 0; i < names.size(); i++) {
            Objects.requireNonNull(tensors.get(i), "tensor");
            if (!distinct.add(Objects.requireNonNull(names.get(i), "name"))) {
                throw bad(kind, names.get(i), "it is to be prepared twice in one group");
            }
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

    /** @throws HvdException if these are no rows and row numbers of a sparse allreduce */
    void requireSparse(String name, Tensor indices, Tensor values, ReduceOp op) {
        if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
            throw badSparse(name, "the operation is " + op + ", expected SUM or AVERAGE");
        }
        boolean areIndices = indices.dtype() == DType.INT64 || indices.dtype() == DType.INT32;
        if (!areIndices || indices.shape().rank() != 1) {
            throw badSparse(name, "the indices are " + indices + ", expected one row of int64 or int32");
        }
        if (values.shape().rank() == 0 || values.shape().dim(0) != indices.elements()) {
            throw badSparse(
                    name,
                    "the values are " + values + ", expected one row for each of " + indices.elements() + " indices");
        }
        if (op == ReduceOp.AVERAGE && !values.dtype().isFloating()) {
            throw badSparse(name, "the values are " + values + ", of which an average is no integer: expected SUM");
        }
        requireOneDevice(name, OpKind.ALLGATHER, List.of(indices, values));
    }

    private HvdException badSparse(String name, String why) {
        return bad(OpKind.ALLGATHER, name, "sparseAllreduce: " + why);
    }

    void requireOneDevice(String name, OpKind kind, List<Tensor> inputs) {
        if (inputs.stream().map(Tensor::device).distinct().count() > 1) {
            throw bad(
                    kind,
                    name,
                    "the tensors of a group lie on different devices: "
                            + inputs.stream().map(Tensor::device).distinct().toList());
        }
    }

    /** @throws HvdException if the tensor cannot take the result of an operation on the input, which has so many rows */
    void requireLike(String name, OpKind kind, Tensor input, Tensor output, long rows) {
        Shape expected = input.shape().withFirst(rows);
        if (output.dtype() != input.dtype()
                || !output.shape().equals(expected)
                || !output.device().equals(input.device())) {
            throw bad(
                    kind,
                    name,
                    "the tensor for the result is " + output + ", expected " + input.dtype() + expected + " on "
                            + input.device());
        }
    }

    /** @throws HvdException if the ranks' shares of the rows would differ */
    void requireEqualParts(String name, Tensor tensor) {
        long rows = tensor.shape().dim(0);
        if (rows % ranks.size() != 0) {
            throw bad(
                    OpKind.REDUCESCATTER,
                    name,
                    "for a tensor that takes the result the first dimension must be a multiple of the " + ranks.size()
                            + " ranks, it is " + rows);
        }
    }

    /** The splits of an alltoall that gives every rank as many rows. */
    long[] equalSplits(String name, Tensor tensor) {
        requireRows(name, OpKind.ALLTOALL, tensor);
        long rows = tensor.shape().dim(0);
        int size = ranks.size();
        if (rows % size != 0) {
            throw bad(
                    OpKind.ALLTOALL,
                    name,
                    "without splits the first dimension must be a multiple of the " + size + " ranks, it is " + rows);
        }
        long[] splits = new long[size];
        Arrays.fill(splits, rows / size);
        return splits;
    }

    long[] requireSplits(String name, Tensor tensor, int[] splits) {
        requireRows(name, OpKind.ALLTOALL, tensor);
        if (splits.length != ranks.size()) {
            throw bad(OpKind.ALLTOALL, name, splits.length + " splits are given for " + ranks.size() + " ranks");
        }
        String given = "splits " + Arrays.toString(splits);
        if (Arrays.stream(splits).anyMatch(rows -> rows < 0)) {
            throw bad(OpKind.ALLTOALL, name, given + " hold a negative number");
        }
        long[] rows = Arrays.stream(splits).asLongStream().toArray();
        long sum = Arrays.stream(rows).sum();
        long most = tensor.shape().dim(0);
        if (sum > most) {
            throw bad(OpKind.ALLTOALL, name, given + " add up to " + sum + ", the first dimension is " + most);
        }
        return rows;
    }

    /** @param name null where there is none */
    HvdException bad(OpKind kind, String name, String why) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT,
                kind + (name == null ? "" : " of \"" + name + "\"") + " on rank " + globalRank + ": " + why);
    }
}
