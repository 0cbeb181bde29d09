/**
 * One JVM for each of several processes, with several ranks as threads in each: the threads meet in memory, and one of
 * them acts for all of its JVM where the processes meet. The one thread that owns the back end between the processes
 * makes every call to it.
 */
package io.hvd.host.hybrid;
