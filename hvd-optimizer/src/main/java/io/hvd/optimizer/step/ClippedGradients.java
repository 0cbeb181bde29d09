package io.hvd.optimizer.step;

import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.gradients.GradientClip;
import java.util.function.DoubleSupplier;

/** Limits the averaged gradients, and finds their norm where it is limited or wanted. */
record ClippedGradients(
        GradientClip clip,
        GradientArithmetic arithmetic,
        DoubleSupplier agreedNorm,
        StepGradients gradients,
        StepProgress progress)
        implements StepStage {
    @Override
    public void run() {
        boolean measures = progress.takeMeasuresNorm();
        if (clip.isNone() && !measures) {
            progress.setLastNorm(Double.NaN);
            return;
        }
        gradients.gatherForStep();
        progress.setLastNorm(clip.apply(arithmetic, agreedNorm, measures));
    }
}
