/** Processes that TCP connects, with no MPI: how they meet, and the connections on which their data travels. */
package io.hvd.transport.tcp;
