/**
 * Watches a job without MPI: one thread per rank exchanges signs of life with the other ranks over sockets of its
 * own, names the missing ranks when a collective waits too long, and at the limit explains the hang in one
 * file and one sentence and ends the job.
 *
 * <p>Each {@link io.hvd.monitor.Monitor} publishes a small {@link io.hvd.monitor.view.Activity}
 * through {@link io.hvd.monitor.peers.Peers}. When a wait is old ({@link io.hvd.monitor.StallWatch}), the lowest rank
 * that gives signs of life gathers {@link io.hvd.monitor.view.RankView}s from all ranks. The pure classes of
 * {@code diagnosis} make waits and a verdict of them, and those of {@code hang} write the warning and the report.
 */
package io.hvd.monitor;
