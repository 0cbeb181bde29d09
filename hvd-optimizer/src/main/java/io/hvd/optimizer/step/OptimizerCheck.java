package io.hvd.optimizer.step;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.gradients.GradientPlace;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** Refuses settings and parameters that would fail later. */
public final class OptimizerCheck {
    private OptimizerCheck() {}

    public static List<Parameter> requireUsable(List<Parameter> given) {
        List<Parameter> parameters = named(given);
        if (parameters.isEmpty()) {
            throw misuse("the optimizer has no parameters, so there is nothing to average");
        }
        Set<String> names = new HashSet<>();
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            if (parameter.name() == null || parameter.name().isBlank()) {
                throw misuse(
                        "parameter " + i + " (" + parameter.value()
                                + ") has no name, and others have; the ranks find each other's gradients by name. Name all or none");
            }
            if (!names.add(parameter.name())) {
                throw misuse("two parameters are named \"" + parameter.name() + "\"");
            }
            if (!parameter.gradient().shape().equals(parameter.value().shape()) && !travelsAsRows(parameter)) {
                throw misuse("parameter \"" + parameter.name() + "\" has shape "
                        + parameter.value().shape() + ", its gradient "
                        + parameter.gradient().shape());
            }
        }
        GradientPlace.requireSeparate(parameters);
        return List.copyOf(parameters);
    }

    /** Whether the gradient has no rows here, because they travel by {@link GradientSource#exchangeSparse}. */
    private static boolean travelsAsRows(Parameter parameter) {
        Shape whole = parameter.value().shape();
        return whole.rank() > 0 && parameter.gradient().shape().equals(whole.withFirst(0));
    }

    public static void requirePasses(int count) {
        if (count < 1) {
            throw misuse("backwardPassesPerStep is " + count + ", expected 1 or more");
        }
    }

    public static AllreduceOptions options(ReduceOp op, double predivide, Compression compression) {
        if (op != ReduceOp.AVERAGE && op != ReduceOp.SUM) {
            throw misuse("gradients are combined by AVERAGE, SUM or ADASUM, found " + op);
        }
        if (predivide != 1.0 && op != ReduceOp.AVERAGE) {
            throw misuse(
                    "gradientPredivideFactor is " + predivide + " with " + op + "; it splits the division of AVERAGE");
        }
        if (!(predivide > 0) || Double.isInfinite(predivide) || Double.isInfinite(1 / predivide)) {
            throw misuse("gradientPredivideFactor is " + predivide + ", expected a positive number");
        }
        return AllreduceOptions.of(op)
                .withPrescale(1 / predivide)
                .withPostscale(predivide)
                .withCompression(compression);
    }

    public static int requireGroups(int count) {
        if (count < 0) {
            throw misuse("numGroups is " + count + ", expected 0, for groups by size, or a number of groups");
        }
        return count;
    }

    /** One of them says which gradients travel together. */
    public static void requireOneGrouping(int numGroups, List<List<String>> groups, long bucketBytes) {
        int asked = (numGroups > 0 ? 1 : 0) + (groups.isEmpty() ? 0 : 1) + (bucketBytes > 0 ? 1 : 0);
        if (asked > 1) {
            throw misuse("numGroups, groups and bucketBytes exclude each other: found numGroups " + numGroups + ", "
                    + groups.size() + " groups and bucketBytes " + bucketBytes + ", expected one of them");
        }
    }

    /** A reducer gets this rank's gradients in the host's memory and makes averages of them, by whatever it sends. */
    public static void requireReducible(
            GradientReducer reducer, List<Parameter> parameters, AllreduceOptions options, boolean someAlwaysFp32) {
        String what = "the reducer " + reducer.settings();
        if (options.op() != ReduceOp.AVERAGE
                || options.prescale() != 1
                || options.compression() != Compression.NONE
                || someAlwaysFp32) {
            throw misuse(what + " averages gradients and compresses them itself: found " + options.op()
                    + ", gradientPredivideFactor " + 1 / options.prescale() + ", compression " + options.compression()
                    + (someAlwaysFp32 ? " and allreduceAlwaysFp32" : "") + ", expected " + ReduceOp.AVERAGE
                    + ", 1.0 and "
                    + Compression.NONE);
        }
        for (Parameter parameter : parameters) {
            Tensor gradient = parameter.gradient();
            if (!gradient.device().isCpu() || !gradient.dtype().isFloating()) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        what + " gets the gradient of \"" + parameter.name() + "\", " + gradient
                                + ", expected a floating-point type in the host's memory. Leave reducer(...) out, or train on"
                                + " the CPU");
            }
        }
    }

    public static void requireFloat16(ReduceOp op, Compression compression) {
        if (compression != Compression.FP16 || op == ReduceOp.ADASUM) {
            throw misuse("rangeControl(...) keeps gradients within the range of Compression.FP16, found compression "
                    + compression + " with " + op + "; other formats have float32's range");
        }
    }

    public static void requireDistinct(Set<String> local, Set<String> sparse) {
        local.stream().filter(sparse::contains).findFirst().ifPresent(name -> {
            throw misuse("localParameters(...) names \"" + name + "\", whose sparse gradient is to be gathered from all"
                    + " ranks: take it from one of the two lists. For an embedding that stays on its rank, make the"
                    + " TorchOptimizer with sparseAsDense = true, or the layer without sparse gradients");
        });
    }

    public static void requireShared(LocalParameters local, String why) {
        if (!local.names().isEmpty()) {
            throw misuse("localParameters(" + local.names() + ") cannot be: " + why);
        }
    }

    /** The parameters themselves if any has a name; else with names by their place. */
    public static List<Parameter> named(List<Parameter> parameters) {
        if (parameters.stream().anyMatch(parameter -> parameter.name() != null)) {
            return parameters;
        }
        return IntStream.range(0, parameters.size())
                .mapToObj(place -> new Parameter(
                        "allreduce.noname.0." + place,
                        parameters.get(place).value(),
                        parameters.get(place).gradient()))
                .toList();
    }

    public static HvdException weightsBesideReducer(GradientReducer reducer) {
        return misuse("weightByBatchSize() beside the reducer " + reducer.settings()
                + ": a reducer averages over ranks. Leave one of the two out");
    }

    /** Weights make an average over samples. */
    public static void requireWeighable(ReduceOp op, double predivide, List<Parameter> parameters) {
        if (op != ReduceOp.AVERAGE || predivide != 1.0) {
            throw misuse("weightByBatchSize() makes an average over the samples of all ranks: found op " + op
                    + " and gradientPredivideFactor " + predivide + ", expected " + ReduceOp.AVERAGE + " and 1");
        }
        parameters.stream()
                .filter(parameter -> !parameter.gradient().dtype().isFloating())
                .findFirst()
                .ifPresent(parameter -> {
                    throw misuse("weightByBatchSize() multiplies gradients by a part of 1: the gradient of \""
                            + parameter.name() + "\" is " + parameter.gradient()
                            + ", expected a floating-point type");
                });
    }

    /** With ADASUM no gradient travels, so what says how gradients travel has no meaning. */
    public static void requirePlainAdasum(
            Optimizer inner,
            double predivide,
            Compression compression,
            int passes,
            LocalReduction reduction,
            GradientReducer reducer) {
        if (inner instanceof ShardedOptimizer) {
            throw misuse(
                    "ADASUM combines the steps that all ranks make of all parameters; a ShardedOptimizer, which was"
                            + " found, steps each parameter on one rank. Choose AVERAGE, or an optimizer that is not sharded");
        }
        if (reducer != null) {
            throw misuse("ADASUM combines how far the parameters have moved, not gradients: found the reducer "
                    + reducer.settings() + ", expected none");
        }
        if (predivide != 1.0 || compression != Compression.NONE || passes != 1 || reduction != LocalReduction.SUM) {
            throw misuse("ADASUM combines how far the parameters have moved, not gradients: found"
                    + " gradientPredivideFactor " + predivide + ", compression " + compression
                    + ", backwardPassesPerStep " + passes + " and localReduction " + reduction + ", expected 1, "
                    + Compression.NONE + ", 1 and " + LocalReduction.SUM
                    + "; several backward passes may come before each step without it");
        }
    }

    /** With ADASUM no gradients are grouped or compressed. */
    public static void requireNoGroupingWithAdasum(
            int numGroups, List<List<String>> groups, long bucketBytes, boolean someAlwaysFp32) {
        if (numGroups > 0 || !groups.isEmpty() || bucketBytes > 0 || someAlwaysFp32) {
            throw misuse(
                    "ADASUM combines how far the parameters have moved, each for itself, and no gradient travels: found"
                            + " numGroups " + numGroups + ", " + groups.size() + " groups, bucketBytes " + bucketBytes
                            + (someAlwaysFp32 ? " and allreduceAlwaysFp32" : "") + ", expected none of them");
        }
    }

    private static HvdException misuse(String message) {
        return new HvdException(ErrorId.OPTIMIZER_MISUSE, message);
    }
}
