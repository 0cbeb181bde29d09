package io.hvd.contract.explorer;

import io.hvd.AllreduceOptions;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The prepared allreduces of one rank, which are started again whenever the same is asked for under the same name. */
final class KeptAllreduces {
    private final Map<List<Object>, Kept> kept = new HashMap<>();

    /** @param tensor what the allreduce reads and overwrites */
    record Kept(PreparedAllreduce allreduce, Tensor tensor) {}

    /** @param like a tensor of the type and shape that are asked for */
    synchronized Kept of(ProcessSet set, String name, Tensor like, AllreduceOptions options) {
        return kept.computeIfAbsent(List.of(set.id(), name, like.dtype(), like.shape(), options), key -> {
            Tensor own = Tensor.zeros(like.dtype(), like.shape());
            return new Kept(set.prepareAllreduce(List.of(name), List.of(own), options), own);
        });
    }
}
