/**
 * How ranks that no MPI connects find each other: each dials one server, which rank 0 runs, or the launcher, and the server
 * hands every rank what all have said.
 */
package io.hvd.rendezvous;
