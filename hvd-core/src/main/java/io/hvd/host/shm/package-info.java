/**
 * Shared memory for the processes of each host: a file in memory that all of them have mapped, locks by which they see
 * that each other lives, and the data planes over them ({@code io.hvd.host.memory}). Between hosts the back end
 * beneath carries each host's data.
 */
package io.hvd.host.shm;
