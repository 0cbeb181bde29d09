/**
 * Watches a job without MPI: one thread per rank exchanges signs of life with the other ranks over sockets of its
 * own, names the missing ranks when a collective waits too long, and at the limit explains the hang in one
 * file and one sentence and ends the job.
 *
 * <p>Each {@link io.hvd.monitor.Monitor} publishes a small {@link io.hvd.monitor.Activity}
 * through {@link io.hvd.monitor.Peers}. When a wait is old ({@link io.hvd.monitor.Watch}), the lowest rank that gives
 * signs of life gathers {@link io.hvd.monitor.RankView}s from all ranks, and the pure classes make waits, a warning and
 * a verdict of them. {@link io.hvd.monitor.CallDivergences} compares the ranks' calls for it.
 */
package io.hvd.monitor;
