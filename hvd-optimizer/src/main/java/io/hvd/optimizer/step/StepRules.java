package io.hvd.optimizer.step;

import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.gradients.FiniteScan;
import java.util.List;
import java.util.TreeSet;

/** Refuses the calls of a {@link DistributedOptimizer} that come at a time at which gradients would be lost or used twice. */
public final class StepRules {
    private static final HvdLogger LOG = HvdLogger.of(StepRules.class);

    private final Optimizer inner;
    private final ProcessSet set;
    private final List<Parameter> parameters;
    private final GradientExchange exchange;
    private boolean warnedOfSum;

    public StepRules(Optimizer inner, ProcessSet set, List<Parameter> parameters, GradientExchange exchange) {
        this.inner = inner;
        this.set = set;
        this.parameters = parameters;
        this.exchange = exchange;
    }

    /** The optimizer, for messages. */
    public String inWords() {
        return inner.getClass().getSimpleName() + " of " + parameters.size() + " parameters, \""
                + parameters.get(0).name() + "\" the first";
    }

    private static HvdException misuse(String how) {
        return new HvdException(ErrorId.OPTIMIZER_MISUSE, how);
    }

    public String onThisRank() {
        return set.included()
                ? "on rank " + set.ranks().get(set.rank()) + " of " + set.size()
                : "on a rank outside of the process set of ranks " + set.ranks();
    }

    private List<String> someInFlight() {
        return exchange.inFlight().stream().limit(3).toList();
    }

    public void requireOpen(boolean closed) {
        if (closed) {
            throw misuse(inWords() + ", " + onThisRank()
                    + ", after close(), which has given back what steps need: build" + " another DistributedOptimizer");
        }
    }

    /** Two of them would average the same gradients one after the other. */
    public void requireOneWrapper(boolean isTheLast) {
        if (!isTheLast) {
            throw misuse(
                    "step() of the DistributedOptimizer of " + inWords() + ", " + onThisRank()
                            + ": another DistributedOptimizer has been built around the same parameters since, and both would average"
                            + " their gradients. Step the one that was built last, close it first, or give each parameters of its own");
        }
    }

    public void requireOutsideOfNoSync() {
        if (exchange.isLocal()) {
            throw misuse("step() or synchronize() of " + inWords() + ", " + onThisRank()
                    + ", inside noSync(): close its scope first, and run the last backward pass outside of it");
        }
    }

    /** @param owner the class through which the program steps the optimizer; null if there is none */
    public void requireNoOwner(String owner) {
        if (owner != null) {
            throw misuse("step() of the DistributedOptimizer inside of an " + owner + ", for " + inWords()
                    + ": its gradients still contain the loss scale. Call " + owner + ".step()");
        }
    }

    /** @param owner the class through which the program steps the optimizer already; null if there is none */
    public void requireFree(String owner, String next) {
        if (owner != null) {
            throw misuse("an " + next + " around the DistributedOptimizer for " + inWords()
                    + ", which is inside of an " + owner + " already: both would average, change and step the same"
                    + " gradients. Keep the first one, and build a DistributedOptimizer for each");
        }
    }

    /** @param owner the class whose state contains more than the optimizer's; null if there is none */
    public void requireNoOwnerToJoin(String owner) {
        if (owner != null) {
            throw misuse("join(...) of the DistributedOptimizer inside of an " + owner + ", for " + inWords()
                    + ": the ranks' loss scales would differ after it. Call " + owner + ".join(divisor)");
        }
    }

    /** The state of a local parameter is this rank's own, and another rank's may have another shape. */
    void requireSharedState(String call, LocalParameters local) {
        if (!local.names().isEmpty()) {
            throw misuse(
                    call + " of " + inWords() + ", " + onThisRank() + ": the optimizer's state contains that of the"
                            + " localParameters(...) " + new TreeSet<>(local.names())
                            + ", which is this rank's own and would be overwritten. Save and load the state on each rank;"
                            + " broadcastParameters(root) gives all ranks the other parameters");
        }
    }

    /**
     * Without a backward, the ranks would average zeros, or the last step's gradients once more.
     *
     * @param source null if the gradients do not announce themselves, so that nothing is known
     */
    public void requireBackward(GradientSource source) {
        if (source != null && !exchange.hasEmptyBatch() && exchange.isBetweenSteps() && !source.hasNewGradient()) {
            throw misuse("step() " + onThisRank() + " without a backward since the last step() or"
                    + " zeroGradients(): none of the " + parameters.size() + " parameters, \""
                    + parameters.get(0).name() + "\" the first, has a new gradient. The order is"
                    + " zeroGradients(), backward, step(); a rank without data of its own calls backward on a"
                    + " loss times 0, or batchSize(0) with weightByBatchSize(), or join() when it has no more."
                    + GradientExchange.USUAL_CAUSES);
        }
    }

    /** @param found whether backward has added to the gradients of the last step */
    public void warnIfNotCleared(boolean found) {
        if (found && !warnedOfSum && set.rank() == 0) {
            warnedOfSum = true;
            LOG.warn(
                    "the gradients of {}, {}, contain those of the step before, which nobody has cleared: call"
                            + " zeroGradients() before backward, unless this sum is meant, or the program sets them to zero"
                            + " where they are. The step is at {}",
                    inWords(),
                    onThisRank(),
                    set.forOptimizers().callerLine());
        }
    }

    /** Arrays do not say whether backward has written into them, so zeros may be meant. */
    public void warnIfAllZero() {
        FiniteScan scan = new FiniteScan();
        boolean allZero = parameters.stream().map(Parameter::gradient).allMatch(scan::isZero);
        boolean speaks = !set.included() || set.rank() == 0;
        if (allZero && speaks) {
            LOG.warn(
                    "the gradients of {}, {}, are all zero in the first step: the order is zeroGradients(), backward, step()."
                            + " Call backward before step()",
                    inWords(),
                    onThisRank());
        }
    }

    public void requireSynchronized(boolean isSynchronized, boolean adasum) {
        if (adasum) {
            throw misuse(
                    "skipSynchronize() with ADASUM, which synchronises no gradients: it combines what the step has made of"
                            + " them. Change the gradients before step(), or choose AVERAGE");
        }
        if (!isSynchronized) {
            throw misuse(
                    "skipSynchronize() without synchronize(): the gradients of this rank would be used as they are."
                            + " Call synchronize() first");
        }
    }

    public void requireNoSyncBeforeExchange() {
        if (exchange.isLocal()) {
            throw misuse(noSyncInWords() + "inside another noSync()");
        }
        if (!exchange.inFlight().isEmpty()) {
            throw misuse(noSyncInWords() + "while gradients of " + someInFlight()
                    + " are being averaged: the passes inside of it come before the one outside, then comes step()");
        }
    }

    private String noSyncInWords() {
        return "noSync() of " + inWords() + ", " + onThisRank() + ", ";
    }

    public void requireNothingInFlight() {
        if (!set.forOptimizers().isInOpenJob()) {
            return; // nothing will come any more
        }
        if (!exchange.inFlight().isEmpty()) {
            throw misuse(
                    "zeroGradients() was called after backward and before step() or synchronize(), while gradients of "
                            + someInFlight() + " are being averaged. The order is zeroGradients(), backward, step()."
                            + GradientExchange.USUAL_CAUSES);
        }
        if (exchange.hasBatch()) {
            throw misuse(
                    "zeroGradients() " + onThisRank() + " after batchSize(n) and before step() or synchronize(): the"
                            + " order is zeroGradients(), batchSize(n), backward, step()");
        }
    }

    /**
     * The optimizer is to go on in another context.
     *
     * @param synchronizedAlready whether gradients are averages that no step has used
     */
    public void requireMayRebind(HvdContext next, boolean synchronizedAlready) {
        String call = "rebind(" + next + ") of " + inWords() + ", ";
        if (next == set || next.processSets().containsValue(set)) {
            throw misuse(call + "which is bound to this context already: expected that of the next Hvd.init()");
        }
        if (!next.isOpen()) {
            throw misuse(call + "which has been closed: expected an open context, that of the next Hvd.init()");
        }
        if (!next.forOptimizers().isInOpenJob()) {
            throw misuse(call + "whose job has failed: expected the context of the next Hvd.init()");
        }
        if (exchange.isLocal()) {
            throw misuse(call + "inside noSync(): close its scope first");
        }
        if (synchronizedAlready || !exchange.isUntouched()) {
            throw misuse(call
                    + "between backward and step(), when its gradients are under way or belong to the ranks of before: "
                    + "call zeroGradients() first, which gives them up where the context is closed or its job has failed,"
                    + " or make the step");
        }
    }

    public void requirePassesMayChange(int count, boolean adasum) {
        OptimizerCheck.requirePasses(count);
        String call = "backwardPassesPerStep(" + count + ") ";
        if (adasum && count > 1) {
            throw misuse(call + "with ADASUM, expected 1: it combines how far the parameters have moved, and several"
                    + " backward passes may come before each step without it");
        }
        if (!exchange.isBetweenSteps() || exchange.hasBatch()) {
            throw misuse(call + "between backward and step(): change it after a step");
        }
    }
}
