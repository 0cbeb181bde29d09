package io.hvd.optimizer.torch;

import io.hvd.Hvd;

/** The gradients inside a rank of a job; {@link DifferentiableIT} starts it under mpirun. */
final class GradientsInThisJob extends ExchangeGradients {
    @Override
    GradientSamples.Ranks ranks() {
        return body -> body.run(Hvd.context());
    }
}
