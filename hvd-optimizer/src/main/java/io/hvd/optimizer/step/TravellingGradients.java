package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.GradientsEvent;
import io.hvd.optimizer.exchange.GradientsRecording;
import io.hvd.optimizer.guard.FiniteSteps;

/** The ranks average their gradients. */
final class TravellingGradients extends StepGradients {
    private static final HvdLogger LOG = HvdLogger.of(DistributedOptimizer.class);

    private final ProcessSet set;

    TravellingGradients(
            GradientSource source,
            GradientExchange exchange,
            StepRules rules,
            FiniteSteps finite,
            StepProgress progress,
            ProcessSet set) {
        super(source, exchange, rules, finite, progress);
        this.set = set;
    }

    @Override
    void begin() {
        super.begin();
        if (source != null) {
            if (source.keepsUntilStaged()) {
                exchange.mayTravelLate();
            }
            source.listen(exchange);
        }
    }

    @Override
    public void run() {
        if (progress.isSkipping()) {
            return;
        }
        if (progress.isSynchronized()) {
            LOG.warn("step() after synchronize() reduces the gradients a second time; wrap the step in"
                    + " try (var skip = optimizer.skipSynchronize()) { optimizer.step(); }");
        } else {
            requireBackward();
        }
        synchronize(true);
    }

    @Override
    public void requireBackward() {
        rules.requireBackward(source);
    }

    @Override
    public void synchronize(boolean look) {
        boolean again = progress.isSynchronized();
        progress.setSynchronized(false);
        GradientsEvent wait = GradientsRecording.begun();
        long backwardEnded = System.nanoTime();
        exchange.submitRest(source);
        StepStats stats = exchange.awaitAll(backwardEnded);
        progress.setLast(stats);
        GradientsRecording.ended(wait, set, stats);
        finite.look(look, source);
        if (source != null) {
            rules.warnIfNotCleared(progress.anyBegun() && !again && source.addsToLastStep());
            source.adopt();
        }
        exchange.endStep();
        progress.setSynchronized(true);
    }

    @Override
    void gatherForStep() {
        // the exchange has put them there
    }

    @Override
    void lookForStep() {
        // the exchange was looked at
    }

    @Override
    public void drop() {
        exchange.drop(source);
    }
}
