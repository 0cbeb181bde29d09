package io.hvd.optimizer.step;

import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.GradientClip;
import java.util.ArrayList;
import java.util.List;

/** Chooses what the steps of one generation do; what has nothing to do is left out. */
final class StepStages {
    private static final HvdLogger LOG = HvdLogger.of(StepStages.class);

    private final Binding bound;
    private final StepProgress progress;
    private final List<StepStage> stages = new ArrayList<>();

    StepStages(Binding bound, StepProgress progress) {
        this.bound = bound;
        this.progress = progress;
    }

    /** Up to the point from which parameters change. */
    StepStages prepare(GradientClip clip, GradientArithmetic arithmetic, boolean zerosAreSeen) {
        stages.add(bound.gradients());
        if (zerosAreSeen) {
            stages.add(this::warnOfZeros);
        }
        if (bound.combinesMoves()) {
            stages.add(bound.settingsCheck()::begin); // which the first gradients do otherwise
        }
        stages.add(bound.settingsCheck()::end);
        stages.add(new FirstStep(bound.set(), bound.trainsTogether(), bound.replicas(), progress));
        if (bound.finite().areRequired()) {
            stages.add(new FiniteGradients(bound.finite(), bound.gradients(), progress));
        }
        stages.add(new ClippedGradients(clip, arithmetic, bound.vote()::norm, bound.gradients(), progress));
        return this;
    }

    private void warnOfZeros() {
        if (!progress.anyBegun()) {
            bound.rules().warnIfAllZero();
        }
    }

    StepStages change(Optimizer inner, List<Parameter> parameters) {
        stages.add(
                bound.combinesMoves()
                        ? new AdasumStage(
                                bound.set(), bound.adasum(), bound.replicas().broadcast(), parameters, progress)
                        : inner::step);
        if (bound.alone()) {
            stages.add(bound.exchange()::startOver);
        }
        return this;
    }

    StepStage[] end() {
        stages.add(() -> progress.setSynchronized(false));
        stages.add(bound.set()::markStep);
        if (bound.replicas().buffers().areKeptTheSame()) {
            stages.add(() -> unlessARankIsLost(bound.replicas().buffers()::stepped));
        }
        stages.add(() -> unlessARankIsLost(bound.replicas().guard()::stepped));
        return stages.toArray(StepStage[]::new);
    }

    /**
     * The parameters have changed, so the step is made, and an elastic job counts it. Where a rank is lost behind it, the next call of hvd
     * throws.
     */
    private static void unlessARankIsLost(StepStage stage) {
        try {
            stage.run();
        } catch (ShutdownException e) {
            LOG.debug("a rank was lost behind the end of a step: {}", e.getMessage());
        }
    }
}
