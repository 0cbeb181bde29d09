package io.hvd.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The MPI to use, and how hvd uses it.
 *
 * @param home the prefix of the Open MPI; empty for that of the mpirun on PATH
 * @param jar the mpi.jar; empty for the one that is found
 * @param mpiFile the library of MPI to call without any jar; empty for the way by mpi.jar
 * @param singleThreaded whether MPI is asked for MPI_THREAD_SINGLE
 * @param allreduce how an allreduce goes from process to process
 */
public record MpiSettings(
        Optional<Path> home,
        Optional<Path> jar,
        Optional<String> mpiFile,
        boolean singleThreaded,
        AllreduceAlgorithm allreduce) {

    /** The way of an allreduce from process to process. */
    public enum AllreduceAlgorithm {
        /** hvd chooses by the size of the tensor and the number of ranks and hosts. */
        AUTO,
        /** Open MPI decides. */
        MPI,
        /** hvd's own, over messages between neighbours. */
        RING
    }

    static MpiSettings from(SettingReader reader) {
        return new MpiSettings(
                reader.path(Setting.OPENMPI_HOME),
                reader.path(Setting.MPI_JAR),
                reader.text(Setting.MPI_LIBRARY),
                reader.flag(Setting.MPI_THREADS_DISABLE),
                reader.choice(Setting.ALLREDUCE_ALGORITHM, AllreduceAlgorithm.class));
    }
}
