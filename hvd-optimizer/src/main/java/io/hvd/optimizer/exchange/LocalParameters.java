package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.HostGradients;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The parameters that each rank keeps to itself, such as its part of an embedding.
 *
 * @param scaled whether their gradients are multiplied by this rank's part of the average, as if the other ranks' gradients
 *     were zeros
 */
public record LocalParameters(Set<String> names, boolean scaled) {
    public static final LocalParameters NONE = new LocalParameters(Set.of(), false);

    boolean contains(Parameter parameter) {
        return names.contains(parameter.name());
    }

    /** The parameters that all ranks have in common. */
    public List<Parameter> shared(List<Parameter> parameters) {
        return names.isEmpty()
                ? parameters
                : parameters.stream().filter(each -> !contains(each)).toList();
    }

    /** @param arithmetic of all parameters' gradients */
    public Norms norms(List<Parameter> parameters, GradientArithmetic arithmetic) {
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
    public record Norms(GradientArithmetic all, GradientArithmetic own) {
        public double shared() {
            return all.gradientNorm();
        }

        public double localSquares() {
            double norm = own == null ? 0 : own.gradientNorm();
            return norm * norm;
        }
    }

    /** @throws HvdException if there is no parameter of one of the names */
    public void requireKnown(List<Parameter> parameters) {
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
