/**
 * Elastic jobs: who is a member of which generation. {@link io.hvd.elastic.Coordinator} decides it, as a state machine without
 * threads, sockets or clocks.
 */
package io.hvd.elastic;
