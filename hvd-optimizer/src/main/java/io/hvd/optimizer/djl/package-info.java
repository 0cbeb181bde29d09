/** Training with DJL on several ranks: a {@code Trainer} that averages gradients, and what all ranks decide together. */
package io.hvd.optimizer.djl;
