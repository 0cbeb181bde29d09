/** MPI's own functions, as far as hvd calls them. */
package io.hvd.transport.mpi.calls;
