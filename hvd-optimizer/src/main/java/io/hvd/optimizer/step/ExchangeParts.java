package io.hvd.optimizer.step;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.ProcessSet;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.BatchWeights;
import io.hvd.optimizer.exchange.Buckets;
import io.hvd.optimizer.exchange.GradientAllreduce;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.GradientReduction;
import io.hvd.optimizer.exchange.ParameterGroups;
import io.hvd.optimizer.exchange.ReducedGradients;
import io.hvd.optimizer.exchange.TunedBuckets;
import io.hvd.optimizer.exchange.UnusedParameters;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.precision.WireRange;
import io.hvd.tensor.ReduceOp;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.DoubleConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** How the gradients of an optimizer travel, as the settings of its builder say. */
final class ExchangeParts {
    private final OptimizerChoices asked;
    private final ProcessSet ranks;
    private final String scope;

    /**
     * @param ranks the ranks that the choices mean
     * @param scope what the names of the collectives begin with
     */
    ExchangeParts(OptimizerChoices asked, ProcessSet ranks, String scope) {
        this.asked = asked;
        this.ranks = ranks;
        this.scope = scope;
    }

    /** Whether gradients stay on this rank. */
    boolean exchangesNothing() {
        return !ranks.included()
                || asked.op == ReduceOp.ADASUM
                || (ranks.size() == 1 && asked.localReduction == LocalReduction.SUM && !asked.weighted);
    }

    /** The names of the parameters with sparse gradients. */
    Set<String> sparse() {
        return new TreeSet<>(asked.inner instanceof GradientSource source ? source.sparse() : Set.of());
    }

    /** Null where nothing is compressed. */
    WireRange range(List<Parameter> parameters) {
        if (asked.rangeControl == null) {
            return null;
        }
        OptimizerCheck.requireFloat16(asked.op, asked.compression);
        return exchangesNothing() || ranks.size() == 1
                ? null
                : new WireRange(ranks, parameters, untouchedByRange(), asked.rangeControl, 1 / asked.predivide, scope);
    }

    private Predicate<Parameter> untouchedByRange() {
        Set<String> outside = outsideOfBuckets();
        return alwaysFp32().or(parameter -> outside.contains(parameter.name()));
    }

    GradientExchange exchange(List<Parameter> parameters, SettingsCheck check, WireRange range) {
        return new GradientExchange(
                reduction(parameters, range),
                parameters,
                grouping(parameters),
                range,
                asked.passesPerStep,
                check,
                weights(parameters),
                asked.local,
                new UnusedParameters(ranks, scope, asked.local.shared(parameters)),
                exchangesNothing());
    }

    /** A reducer keeps the rest of earlier steps by its buckets, which therefore stay as they are. */
    private Supplier<Buckets> grouping(List<Parameter> parameters) {
        Buckets first = buckets(parameters);
        boolean said = asked.bucketBytes > 0 || asked.numGroups > 0 || !asked.groups.isEmpty();
        return said || asked.reducer != null || exchangesNothing() || ranks.size() == 1
                ? () -> first
                : new TunedBuckets(ranks, parameters, outsideOfBuckets());
    }

    Buckets buckets(List<Parameter> parameters) {
        OptimizerCheck.requireOneGrouping(asked.numGroups, asked.groups, asked.bucketBytes);
        Set<String> outside = outsideOfBuckets();
        if (!asked.groups.isEmpty()) {
            return new Buckets(ParameterGroups.named(parameters, asked.groups), parameters, outside);
        }
        return asked.numGroups > 0
                ? new Buckets(ParameterGroups.consecutive(parameters.size(), asked.numGroups), parameters, outside)
                : new Buckets(
                        parameters,
                        asked.bucketBytes > 0
                                ? asked.bucketBytes
                                : ranks.forOptimizers().bucketBytes(false),
                        outside);
    }

    private Set<String> outsideOfBuckets() {
        Set<String> outside = new HashSet<>(sparse());
        OptimizerCheck.requireDistinct(asked.local.names(), outside);
        outside.addAll(asked.local.names());
        return outside;
    }

    /** Null if all ranks count alike. */
    private BatchWeights weights(List<Parameter> parameters) {
        if (!asked.weighted) {
            return null;
        }
        OptimizerCheck.requireWeighable(asked.op, asked.predivide, parameters);
        return exchangesNothing() ? null : new BatchWeights(ranks, scope, accumulated(parameters));
    }

    private DoubleConsumer accumulated(List<Parameter> parameters) {
        DoubleConsumer multiply = asked.inner instanceof GradientSource source
                ? source::multiplyAccumulated
                : new HostGradients(parameters)::multiplyGradients;
        return factor -> {
            if (factor == 0) {
                asked.inner.zeroGradients();
            } else {
                multiply.accept(factor);
            }
        };
    }

    private GradientReduction reduction(List<Parameter> parameters, WireRange range) {
        Predicate<Parameter> ownType =
                range == null ? alwaysFp32() : alwaysFp32().or(range::isWide);
        if (asked.op == ReduceOp.ADASUM) {
            return new GradientAllreduce(ranks, AllreduceOptions.average(), asked.localReduction, ownType, scope);
        }
        if (asked.weighted && asked.reducer != null) {
            throw OptimizerCheck.weightsBesideReducer(asked.reducer);
        }
        if (asked.weighted) { // each rank's gradients are its part of the average
            Compression onWire = ranks.size() == 1 ? Compression.NONE : asked.compression;
            AllreduceOptions sum = AllreduceOptions.sum().withCompression(onWire);
            return new GradientAllreduce(ranks, sum, LocalReduction.SUM, ownType, scope);
        }
        AllreduceOptions wanted = OptimizerCheck.options(asked.op, asked.predivide, asked.compression);
        if (asked.reducer != null) {
            OptimizerCheck.requireReducible(asked.reducer, parameters, wanted, asked.alwaysFp32 != null);
        }
        if (asked.reducer != null && ranks.size() > 1) {
            return new ReducedGradients(ranks, asked.reducer, asked.localReduction, scope);
        }
        AllreduceOptions options = ranks.size() == 1 ? AllreduceOptions.of(asked.op) : wanted;
        return new GradientAllreduce(ranks, options, asked.localReduction, ownType, scope);
    }

    private Predicate<Parameter> alwaysFp32() {
        return asked.alwaysFp32 != null ? asked.alwaysFp32 : parameter -> false;
    }
}
