package io.hvd.optimizer.step;

/** One thing that a step does; which there are, and in which order, is chosen once for each generation ({@link StepStages}). */
@FunctionalInterface
public interface StepStage {
    void run();
}
