package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Gives all ranks the state that one of them has, tensor by tensor, so that no array has to hold all of it. */
public final class NamedBroadcast {
    private NamedBroadcast() {}

    /**
     * A collective.
     *
     * @param state that of the root; anything on other ranks
     * @param root global rank
     * @param keeps the parameters whose state this rank wants; it keeps no other in memory
     * @return the root's state; on the root itself the very one
     */
    public static NamedState of(ProcessSet set, String name, NamedState state, int root, Predicate<String> keeps) {
        boolean isRoot = set.ranks().get(set.rank()) == root;
        NamedForm form =
                set.broadcastObject(name + ".form", isRoot ? NamedForm.of(state) : null, NamedForm.CODEC, root);
        SortedMap<String, Tensor> kept = new TreeMap<>();
        int number = 0;
        for (Map.Entry<String, NamedForm.Spec> spec : form.specs().entrySet()) {
            String key = spec.getKey();
            Tensor tensor = isRoot ? state.tensors().get(key) : spec.getValue().zeros();
            set.broadcastInPlace(name + "." + number++, tensor, root);
            if (isRoot || !key.contains(".") || keeps.test(NamedState.parameter(key))) {
                kept.put(key, tensor);
            }
        }
        return new NamedState(kept, form.words());
    }
}
