package io.hvd.optimizer.exchange;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.reduce.GradientBucket;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.tensor.Tensor;
import java.util.List;

/** The duties of a {@link GradientReducer} for a bucket, and the words of an error where it does something else. */
record ReducerContract(
        GradientReducer reducer, ProcessSet set, String bucket, List<String> names, List<Tensor> tensors) {
    private static final int NAMES_SHOWN = 3;

    /** @throws HvdException that names what is wrong with a result */
    void require(GradientBucket reduced) {
        if (reduced == null) {
            throw broken("has completed its future with null, expected the bucket", null);
        }
        if (!reduced.name().equals(bucket)) {
            throw broken("has returned bucket \"" + reduced.name() + "\"", null);
        }
        List<Tensor> found = reduced.tensors();
        if (found.size() != tensors.size()) {
            throw broken("has returned " + found.size() + " tensors, expected " + tensors.size(), null);
        }
        for (int i = 0; i < found.size(); i++) {
            requireLike(names.get(i), found.get(i), tensors.get(i));
        }
    }

    private void requireLike(String parameter, Tensor found, Tensor expected) {
        if (found.dtype() != expected.dtype()
                || !found.shape().equals(expected.shape())
                || !found.device().equals(expected.device())) {
            throw broken(
                    "has returned " + found + " for the gradient of \"" + parameter + "\", expected " + expected, null);
        }
    }

    HvdException broken(String how, Throwable cause) {
        return new HvdException(ErrorId.OPTIMIZER_MISUSE, inWords() + " " + how, cause);
    }

    String inWords() {
        int more = names.size() - NAMES_SHOWN;
        String some = more <= 0 ? names.toString() : names.subList(0, NAMES_SHOWN) + " and " + more + " more";
        String className = reducer.getClass().getName().replaceFirst("\\$\\$Lambda.*", "'s lambda");
        return "the reducer " + className + ", for bucket \"" + bucket + "\" of the gradients of " + some + ", on rank "
                + set.rank() + " of " + set.size() + ",";
    }
}
