package io.hvd.optimizer.step;

import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.guard.FiniteSteps;

/** The gradients stay on this rank. */
final class StayingGradients extends StepGradients {
    private final int parameters;
    private final boolean needBackward;

    /**
     * @param parameters their number
     * @param needBackward whether several ranks would refuse a step without backward
     */
    StayingGradients(
            GradientSource source,
            GradientExchange exchange,
            StepRules rules,
            FiniteSteps finite,
            StepProgress progress,
            int parameters,
            boolean needBackward) {
        super(source, exchange, rules, finite, progress);
        this.parameters = parameters;
        this.needBackward = needBackward;
    }

    @Override
    public void run() {
        if (!progress.isSkipping() && !progress.isSynchronized()) {
            requireBackward();
        }
    }

    /** LibTorch's gradients say so only until they have been gathered: then backward adds to them where they are. */
    @Override
    public void requireBackward() {
        if (source != null && needBackward && !progress.isGathered()) {
            rules.requireBackward(source);
        }
    }

    @Override
    public void synchronize(boolean look) {
        gather();
        finite.lookAlone(look);
        exchange.startOver();
        progress.setSynchronized(true);
    }

    /** A single rank can then clip as several ranks do. */
    private void gather() {
        if (source != null) {
            progress.setGathered();
            for (int i = 0; i < parameters; i++) {
                source.stage(i);
            }
            source.adopt();
        }
    }

    @Override
    void gatherForStep() {
        if (!progress.isSkipping()) {
            gather();
        }
    }

    /** With one rank nobody has looked, unless the program has synchronized the gradients. */
    @Override
    void lookForStep() {
        if (!progress.isSkipping()) {
            gather();
            finite.lookAlone(true);
        }
    }

    @Override
    public void drop() {
        exchange.drop(null);
    }
}
