/**
 * Shared memory for the ranks of one host: allreduces go from the user's memory into a segment that all of them have
 * mapped, and back. Everything else stays with the back end beneath.
 */
package io.hvd.backend.shm;
