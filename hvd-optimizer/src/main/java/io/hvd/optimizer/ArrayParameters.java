package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.step.OptimizerCheck;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Trainable {@code float[]} arrays with their gradients, for trainers that compute both themselves.
 *
 * <pre>{@code
 * var parameters = new ArrayParameters().add("w", w, wGradient).add("b", b, bGradient);
 * var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1)).build();
 * }</pre>
 *
 * <p>hvd's own optimizers compute in {@code float}. For {@code double[]} write an {@link Optimizer} of your own, whose parameters are
 * {@code new Parameter(name, Tensor.of(value), Tensor.of(gradient))}: gradients are averaged and clipped, and parameters broadcast,
 * compared and saved, with all bits of a {@code double}.
 */
public final class ArrayParameters {
    private final List<Parameter> parameters = new ArrayList<>();
    private final List<float[]> values = new ArrayList<>();
    private final List<float[]> gradients = new ArrayList<>();
    /** The kind of each array. */
    private final Map<float[], String> arrays = new IdentityHashMap<>();
    /** The optimizer that was built around them last; null if none was. */
    private Object wrapper;

    /**
     * Adds an array and the array in which its gradient is accumulated; both stay the caller's.
     *
     * @throws HvdException if one of them has been added before
     */
    public ArrayParameters add(String name, float[] value, float[] gradient) {
        return add(name, value, gradient, Shape.of(value.length));
    }

    /** Adds arrays that are a tensor of a shape, which matters to compressions that look at rows and columns. */
    public ArrayParameters add(String name, float[] value, float[] gradient, Shape shape) {
        requireNew(name, "values", value);
        requireNew(name, "gradient", gradient);
        parameters.add(new Parameter(
                name,
                Tensor.wrap(value, DType.FLOAT32, shape),
                Tensor.wrap(
                        gradient, DType.FLOAT32, gradient.length == value.length ? shape : Shape.of(gradient.length))));
        values.add(value);
        gradients.add(gradient);
        return this;
    }

    /** An array that two layers share travels and is stepped once: as two parameters it would be averaged while it is averaged. */
    private void requireNew(String name, String what, float[] array) {
        String before = array.length == 0 ? null : arrays.putIfAbsent(array, what + " of " + words(name));
        if (before != null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "ArrayParameters.add(" + words(name) + "): the array of its " + what + " is that of the " + before
                            + " already, expected arrays of its own. Add a parameter that several layers share once: each of them"
                            + " adds to its gradient, and it is averaged and stepped once");
        }
    }

    private String words(String name) {
        return name == null ? "parameter " + parameters.size() : "\"" + name + "\"";
    }

    /** Adds an array without a name, as the others must then be: their names are their places. */
    public ArrayParameters add(float[] value, float[] gradient) {
        return add(null, value, gradient);
    }

    void wrappedBy(Object latest) {
        wrapper = latest;
    }

    boolean areWrappedBy(Object one) {
        return wrapper == one || wrapper == null;
    }

    /** An older wrapper may step them again when the latest one is closed. */
    void releasedBy(Object closed) {
        if (wrapper == closed) {
            wrapper = null;
        }
    }

    List<Parameter> list() {
        return OptimizerCheck.named(List.copyOf(parameters));
    }

    /** Number of the parameters. */
    public int count() {
        return parameters.size();
    }

    float[] value(int index) {
        return values.get(index);
    }

    float[] gradient(int index) {
        return gradients.get(index);
    }
}
