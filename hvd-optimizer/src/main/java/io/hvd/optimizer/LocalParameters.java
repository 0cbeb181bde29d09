package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The parameters that each rank keeps to itself, such as its part of an embedding.
 *
 * @param scaled whether their gradients are multiplied by this rank's part of the average, as if the other ranks' gradients
 *     were zeros
 */
record LocalParameters(Set<String> names, boolean scaled) {
    static final LocalParameters NONE = new LocalParameters(Set.of(), false);

    boolean contains(Parameter parameter) {
        return names.contains(parameter.name());
    }

    /** The parameters that all ranks have in common. */
    List<Parameter> shared(List<Parameter> parameters) {
        return names.isEmpty()
                ? parameters
                : parameters.stream().filter(each -> !contains(each)).toList();
    }

    /** @param arithmetic of all parameters' gradients */
    Norms norms(List<Parameter> parameters, GradientArithmetic arithmetic) {
        return names.isEmpty()
                ? new Norms(arithmetic, null)
                : new Norms(
                        new HostGradients(shared(parameters)),
                        new HostGradients(
                                parameters.stream().filter(this::contains).toList()));
    }

    /**
     * The norms of a rank's gradients.
     *
     * @param all the gradients that all ranks have in common
     * @param own those of this rank's local parameters; null if there are none
     */
    record Norms(GradientArithmetic all, GradientArithmetic own) {
        double shared() {
            return all.gradientNorm();
        }

        double localSquares() {
            double norm = own == null ? 0 : own.gradientNorm();
            return norm * norm;
        }
    }

    /** @throws HvdException if there is no parameter of one of the names */
    void requireKnown(List<Parameter> parameters) {
        TreeSet<String> unknown = new TreeSet<>(names);
        parameters.forEach(parameter -> unknown.remove(parameter.name()));
        if (!unknown.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "localParameters(...) names " + unknown + ", and there is no such parameter among the "
                            + parameters.size() + " of the optimizer, \""
                            + parameters.get(0).name() + "\" the first");
        }
    }
}
