package io.hvd.optimizer.step;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.agreement.OptimizerScope;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.exchange.ParameterGroups;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.guard.DivergenceGuard;
import io.hvd.optimizer.guard.FiniteSteps;
import io.hvd.optimizer.guard.NonFiniteCheck;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.optimizer.precision.WireRange;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** The parts of a {@link DistributedOptimizer}, as the settings of its builder say. */
public final class OptimizerParts {
    private final OptimizerChoices asked;
    private final OptimizerScope numbered;
    private final String scope;
    private final ExchangeParts exchanges;

    /** @throws HvdException if the context and the process set contradict each other */
    public OptimizerParts(OptimizerChoices asked) {
        this.asked = asked;
        this.numbered =
                asked.scopeName == null ? OptimizerScope.numbered(ranks()) : OptimizerScope.named(asked.scopeName);
        this.scope = numbered.prefix();
        this.exchanges = new ExchangeParts(asked, ranks(), scope);
    }

    /** The beginning of the names of the optimizer's collectives. */
    public String prefix() {
        return scope;
    }

    /** How gradients are combined, in words. */
    public String combination() {
        return asked.op
                + (asked.compression == Compression.NONE ? "" : " in " + asked.compression)
                + (asked.reducer == null
                        ? ""
                        : " by " + asked.reducer.getClass().getSimpleName());
    }

    /** A context says which job, a process set which of its ranks: the narrower one decides, in whatever order. */
    public ProcessSet ranks() {
        if (asked.set == null) {
            return asked.context != null ? asked.context : Hvd.context();
        }
        if (asked.context != null && asked.context.processSets().get(asked.set.id()) != asked.set) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the optimizer got context(...) and processSet(...), but process set " + asked.set.id()
                            + " of ranks "
                            + asked.set.ranks() + " is not one of that context, which has sets "
                            + new TreeSet<>(asked.context.processSets().keySet())
                            + ". Leave context(...) out, or name a set of that context");
        }
        return asked.set;
    }

    private void requireShareable(List<Parameter> parameters) {
        asked.local.requireKnown(parameters);
        if (asked.inner instanceof ShardedOptimizer) {
            OptimizerCheck.requireShared(asked.local, "a ShardedOptimizer steps each parameter on one rank for all");
        }
    }

    /** Null without ADASUM, and on a rank that steps alone. */
    AdasumSteps adasum(ProcessSet ranks, List<Parameter> parameters) {
        if (asked.op != ReduceOp.ADASUM) {
            return null;
        }
        OptimizerCheck.requirePlainAdasum(
                asked.inner,
                asked.predivide,
                asked.compression,
                asked.passesPerStep,
                asked.localReduction,
                asked.reducer);
        OptimizerCheck.requireNoGroupingWithAdasum(
                asked.numGroups, asked.groups, asked.bucketBytes, asked.alwaysFp32 != null);
        OptimizerCheck.requireShared(asked.local, "ADASUM combines how far all parameters have moved");
        return ranks.included() ? new AdasumSteps(ranks, asked.inner, parameters, scope) : null;
    }

    SettingsCheck settingsCheck(ProcessSet ranks) {
        List<String> shared = sharedNames();
        SettingsCheck check = new SettingsCheck(ranks, asked.inner, numbered, shared, settings(shared));
        boolean stepsAlone = exchanges.exchangesNothing() && (asked.op != ReduceOp.ADASUM || !ranks.included());
        if (stepsAlone) {
            check.skip();
        } else if (asked.settingsMayDiffer) {
            check.skipOptimizer();
        }
        return check;
    }

    /** The settings that must not differ between the ranks, besides the optimizer's own. */
    private Map<String, String> settings(List<String> shared) {
        Map<String, String> all = new TreeMap<>();
        all.put(
                "parameters that are not local",
                shared.size() + " with names of checksum " + Long.toHexString(OptimizerScope.hash(shared)));
        all.put(
                "local gradients",
                asked.local == LocalParameters.NONE || asked.local.scaled() ? "scaled" : "not scaled");
        all.put("sparse gradients", exchanges.sparse().toString());
        all.put("average over", asked.weighted ? "samples" : "ranks");
        all.putAll(asked.clip.settings());
        all.put("gradients that are not finite", refusesNonFinite(ranks()) ? "refused" : "allowed");
        if (asked.rangeControl != null) {
            all.put("range control", asked.rangeControl.toString());
        }
        if (asked.numGroups > 0 || !asked.groups.isEmpty() || asked.reducer != null) {
            all.put(
                    "groups of gradients",
                    ParameterGroups.inWords(exchanges.buckets(OptimizerCheck.named(asked.inner.parameters()))));
        }
        if (asked.reducer != null) {
            all.put("reducer", asked.reducer.settings());
        }
        return all;
    }

    private List<String> sharedNames() {
        return asked.local.shared(OptimizerCheck.named(asked.inner.parameters())).stream()
                .map(Parameter::name)
                .toList();
    }

    ModelBuffers modelBuffers(ProcessSet ranks) {
        return new ModelBuffers(ranks, asked.buffers, asked.bufferSync, scope);
    }

    DivergenceGuard guard(ProcessSet ranks, List<Parameter> parameters, ModelBuffers modelBuffers) {
        int every = asked.compareEvery < 0 ? ranks.forOptimizers().divergenceSteps() : asked.compareEvery;
        return new DivergenceGuard(ranks, asked.local.shared(parameters), modelBuffers.toCompare(), every, scope);
    }

    private boolean refusesNonFinite(ProcessSet ranks) {
        return asked.refuseNonFinite == null ? ranks.forOptimizers().refusesNonFinite() : asked.refuseNonFinite;
    }

    /** Null where steps by gradients that are not finite are made. */
    NonFiniteCheck finiteCheck(
            ProcessSet ranks,
            List<Parameter> parameters,
            GradientArithmetic arithmetic,
            OverflowVote vote,
            long stepsBefore) {
        if (!refusesNonFinite(ranks)) {
            return null;
        }
        boolean differ = asked.op == ReduceOp.ADASUM
                || asked.reducer != null
                || !asked.local.names().isEmpty();
        boolean onHost = exchanges.sparse().isEmpty()
                && parameters.stream().allMatch(each -> each.gradient().device().isCpu());
        GradientArithmetic looking = onHost ? new HostGradients(parameters) : arithmetic;
        return new NonFiniteCheck(ranks, parameters, looking, differ ? vote : null, scope, stepsBefore);
    }

    OverflowVote vote(ProcessSet ranks) {
        return new OverflowVote(ranks, scope, asked.op == ReduceOp.ADASUM && ranks.included());
    }

    private Replicas replicas(LastingParts lasting, GradientExchange exchange, StepRules rules) {
        List<Parameter> parameters = lasting.parameters();
        ModelBuffers buffers = modelBuffers(ranks());
        DivergenceGuard guard = guard(ranks(), parameters, buffers);
        StateBroadcast broadcast = new StateBroadcast(
                asked.inner,
                lasting.hasWhole(),
                ranks(),
                asked.local.shared(parameters),
                asked.local,
                buffers,
                exchange,
                rules);
        return new Replicas(broadcast, buffers, guard);
    }

    private StepGradients gradients(
            ProcessSet set, LastingParts lasting, GradientExchange exchange, StepRules rules, FiniteSteps finite) {
        GradientSource source = asked.inner instanceof GradientSource announced ? announced : null;
        if (!exchanges.exchangesNothing()) {
            return new TravellingGradients(source, exchange, rules, finite, lasting.progress(), set);
        }
        boolean needBackward = set.included() && asked.op != ReduceOp.ADASUM;
        int count = lasting.parameters().size();
        return new StayingGradients(source, exchange, rules, finite, lasting.progress(), count, needBackward);
    }

    /**
     * Binds the optimizer to these ranks.
     *
     * @param stepsBefore the number of steps in earlier generations, for messages
     */
    public Binding bind(LastingParts lasting, long stepsBefore) {
        ProcessSet set = ranks();
        List<Parameter> parameters = lasting.parameters();
        requireShareable(parameters);
        AdasumSteps adasum = adasum(set, parameters);
        SettingsCheck check = settingsCheck(set);
        WireRange range = exchanges.range(parameters);
        GradientExchange exchange = exchanges.exchange(parameters, check, range);
        StepRules rules = new StepRules(asked.inner, set, parameters, exchange);
        Replicas replicas = replicas(lasting, exchange, rules);
        check.compareParameters(replicas::startHash, replicas.guard()::requireEqualAtStart);
        OverflowVote vote = vote(set);
        FiniteSteps finite =
                new FiniteSteps(finiteCheck(set, parameters, lasting.arithmetic(), vote, stepsBefore), check);
        GradientVote asks = new GradientVote(vote, asked.local.norms(parameters, lasting.arithmetic()));
        StepGradients gradients = gradients(set, lasting, exchange, rules, finite);
        boolean alone = exchanges.exchangesNothing();
        return new Binding(set, alone, adasum, check, range, exchange, rules, replicas, asks, finite, gradients);
    }

    /** The stages of the steps of this generation, in their order. */
    public StepStage[] stages(Binding bound, LastingParts lasting) {
        return new StepStages(bound, lasting.progress())
                .prepare(asked.clip, lasting.arithmetic(), lasting.zerosAreSeen())
                .change(asked.inner, lasting.parameters())
                .end();
    }
}
