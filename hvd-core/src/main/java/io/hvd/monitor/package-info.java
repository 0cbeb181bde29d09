/**
 * Watches a job from outside MPI: one thread per rank that hears from the others over sockets of its
 * own, says who is missing when a collective waits too long, and in the end explains the hang in one
 * file and one sentence and ends the job.
 *
 * <p>The way: each {@link io.hvd.monitor.Monitor} publishes a small {@link io.hvd.monitor.Activity}
 * through {@link io.hvd.monitor.Peers}; the lowest rank that is heard looks closer when something is
 * old ({@link io.hvd.monitor.Watch}), gathers {@link io.hvd.monitor.RankView}s from all, and the pure
 * classes turn them into waits, a warning, a verdict.
 */
package io.hvd.monitor;
