package io.hvd.train.safetensors;

import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import java.util.Optional;
import java.util.function.Predicate;

/** Which elements of a file's tensors are kept in memory. */
public interface Wanted {
    /** The elements of a tensor; empty if it is not wanted. Some of its elements make a vector, all of them a tensor of its shape. */
    Optional<ElementRun> of(String name, Shape shape);

    /** All elements of some tensors. */
    static Wanted wholes(Predicate<String> names) {
        return (name, shape) -> names.test(name) ? Optional.of(ElementRun.all(shape)) : Optional.empty();
    }
}
