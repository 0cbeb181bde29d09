/**
 * A series of checkpoints in a folder, from which a training goes on, perhaps with another number of ranks.
 *
 * <p>{@link io.hvd.train.checkpoint.AutoResume} does all of it in a {@code TrainingLoop}; a loop of your own calls {@link
 * io.hvd.train.checkpoint.Checkpoints} and {@link io.hvd.train.checkpoint.TerminationVote}.
 */
package io.hvd.train.checkpoint;
