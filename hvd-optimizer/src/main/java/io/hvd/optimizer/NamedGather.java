package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Brings the states that ranks have to one of them, tensor by tensor, so that no array has to hold all of one. */
final class NamedGather {
    private NamedGather() {}

    /**
     * A collective.
     *
     * @param mine that of this rank; null if it gives none
     * @param root global rank
     * @return by rank on the root, null for one that gives none, and its own the very one; empty elsewhere
     */
    static List<NamedState> of(ProcessSet set, String name, NamedState mine, int root) {
        List<NamedForm> forms =
                set.allgatherObject(name + ".forms", mine == null ? null : NamedForm.of(mine), NamedForm.CODEC);
        boolean isRoot = set.ranks().get(set.rank()) == root;
        List<NamedState> states = new ArrayList<>();
        for (int from = 0; from < set.size(); from++) {
            NamedForm form = forms.get(from);
            boolean travels = form != null && set.ranks().get(from) != root;
            NamedState state = from == set.rank() ? mine : null;
            if (travels) {
                SortedMap<String, Tensor> tensors = gather(set, name + "." + from, form, state, root);
                state = new NamedState(tensors, form.words());
            }
            states.add(state);
        }
        return isRoot ? states : List.of();
    }

    /** @param given on the rank that gives it; null elsewhere @return empty but on the root */
    private static SortedMap<String, Tensor> gather(
            ProcessSet set, String name, NamedForm form, NamedState given, int root) {
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        int number = 0;
        for (Map.Entry<String, NamedForm.Spec> entry : form.specs().entrySet()) {
            NamedForm.Spec spec = entry.getValue();
            Tensor rows = given == null ? none(spec) : rows(given.tensors().get(entry.getKey()));
            Tensor arrived = set.gather(name + "." + number++, rows, root);
            if (arrived != null) {
                tensors.put(entry.getKey(), spec.shape().rank() == 0 ? scalar(arrived) : arrived);
            }
        }
        return tensors;
    }

    /** No rows of such a tensor; a scalar is one row. */
    private static Tensor none(NamedForm.Spec spec) {
        long[] dims = spec.shape().rank() == 0 ? new long[1] : spec.shape().toArray();
        dims[0] = 0;
        return Tensor.zeros(spec.type(), Shape.of(dims));
    }

    private static Tensor rows(Tensor tensor) {
        return tensor.shape().rank() == 0 ? copy(tensor, Shape.of(1)) : tensor;
    }

    private static Tensor scalar(Tensor row) {
        return copy(row, Shape.scalar());
    }

    private static Tensor copy(Tensor tensor, Shape shape) {
        DType type = tensor.dtype();
        Tensor copy = Tensor.zeros(type, shape);
        copy.copyFrom(tensor);
        return copy;
    }
}
