/**
 * Shared memory for the ranks of each host: data goes from the user's memory into a segment that all of them have
 * mapped, and back; between hosts the back end beneath carries what a host has come to. What is left goes beneath.
 */
package io.hvd.backend.shm;
