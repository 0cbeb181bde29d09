package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.nccl.NcclProvider;
import io.hvd.transport.tcp.TcpProvider;

/**
 * The things that hvd can use here, under Horovod's names for them; looked for at run time, because nothing
 * is compiled in.
 *
 * @param mpiBuilt Open MPI with Java bindings of its own version is installed
 * @param mpiEnabled this process's job runs on it
 * @param mpiThreadsSupported several threads may call MPI; never, since one thread makes all calls
 * @param ncclBuilt NCCL's version as a number, such as 21805, or 0 without GPU or NCCL
 * @param cudaBuilt the CUDA driver shows at least one GPU
 * @param glooBuilt true: hvd's own TCP does what Gloo does for Horovod, and is always there
 * @param glooEnabled this process's job runs on it, without MPI
 * @param cclBuilt false: there is no oneCCL here
 * @param ddlBuilt false: there is no DDL here
 * @param rocmBuilt false: GPUs are NVIDIA's
 */
public record Capabilities(
        boolean mpiBuilt,
        boolean mpiEnabled,
        boolean mpiThreadsSupported,
        int ncclBuilt,
        boolean cudaBuilt,
        boolean glooBuilt,
        boolean glooEnabled,
        boolean cclBuilt,
        boolean ddlBuilt,
        boolean rocmBuilt) {

    /** @param transport what carries data between the processes of the current job; empty without one */
    static Capabilities look(String transport) {
        return new Capabilities(
                MpiProvider.isInstalled(HvdConfig.fromEnvironment()),
                transport.equals(MpiProvider.NAME),
                false,
                NcclProvider.installedVersion(),
                NcclProvider.gpus() > 0,
                true,
                transport.equals(TcpProvider.NAME),
                false,
                false,
                false);
    }
}
