/**
 * Shared memory for the ranks of each host: data goes from the user's memory into a segment that all of them have
 * mapped, and back. Between hosts the back end beneath carries each host's result. It also carries out all other
 * operations.
 */
package io.hvd.backend.shm;
