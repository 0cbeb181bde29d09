/**
 * Elastic jobs: who is a member of which generation. {@link io.hvd.elastic.Coordinator} decides it, as a state machine without
 * threads, sockets or clocks; {@link io.hvd.elastic.CoordinatorServer} runs it in the launcher, or where others
 * start the workers, and {@link io.hvd.elastic.CoordinatorLink} is a worker's connection to it.
 */
package io.hvd.elastic;
