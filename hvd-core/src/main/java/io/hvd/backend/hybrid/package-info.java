/**
 * One JVM for each of several processes, and several ranks as threads in each: threads meet in memory, and one of them
 * speaks for all of its JVM where the processes meet. Every call to the back end between the processes is made by the
 * one thread that owns it.
 */
package io.hvd.backend.hybrid;
