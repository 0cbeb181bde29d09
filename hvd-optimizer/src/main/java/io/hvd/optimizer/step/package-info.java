/**
 * The work of a step of a {@link io.hvd.optimizer.DistributedOptimizer}. {@link io.hvd.optimizer.step.OptimizerParts} binds the optimizer to
 * the ranks of a generation ({@link io.hvd.optimizer.step.Binding}) and chooses the stages of its steps ({@link
 * io.hvd.optimizer.step.StepStage}); {@link io.hvd.optimizer.step.StepProgress} says how far a step is.
 */
package io.hvd.optimizer.step;
