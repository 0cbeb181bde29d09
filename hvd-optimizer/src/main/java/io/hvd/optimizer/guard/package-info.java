/**
 * The guards that keep ranks from training on with a model that is broken. Three looks, each at something else:
 *
 * <ul>
 *   <li>at the gradients, before a step uses them: {@link io.hvd.optimizer.guard.FiniteSteps} says when, {@link
 *       io.hvd.optimizer.guard.NonFiniteCheck} names the parameter and the ranks that an infinite or NaN element comes from. It is the
 *       builder's {@code refuseNonFinite}.
 *   <li>at the parameters and the buffers, every so many steps: {@link io.hvd.optimizer.guard.DivergenceGuard} finds ranks whose models
 *       are no longer the same. It is the builder's {@code compareParametersEvery}.
 *   <li>at the metrics, such as the loss, once in so many batches: {@code io.hvd.train.TerminateOnNaN}, a callback of a training loop,
 *       which needs no optimizer and no pass over gradients.
 * </ul>
 */
package io.hvd.optimizer.guard;
