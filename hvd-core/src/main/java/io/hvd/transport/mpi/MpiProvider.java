package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.spi.TransportProvider;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.ObjIntConsumer;

/** Connects processes by MPI. */
public final class MpiProvider implements TransportProvider {
    public static final String NAME = "mpi";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Executor communicationThread() {
        return MpiProcess.ofThisProcess().thread();
    }

    @Override
    public Connection connect(HvdConfig config, List<Integer> ranks) {
        return MpiProcess.ofThisProcess().connect(config, ranks);
    }

    /**
     * The mpi.jar of the Open MPI that would be used.
     *
     * @throws HvdException that says what is missing, or which versions do not fit together
     */
    public static Path jar(HvdConfig config) {
        return MpiJar.matching(OpenMpi.locate(config), config);
    }

    /**
     * The library of MPI that this Java can call by foreign functions, as it does where there is no mpi.jar; empty if it cannot.
     */
    public static Optional<String> byForeignFunctions(HvdConfig config) {
        return MpiBinding.byForeignFunctions(config);
    }

    /**
     * MPI_Allreduce in place of so many floats by foreign functions, to be compared with mpi.jar that has started MPI in this
     * process; empty where this Java has none.
     */
    public static Optional<ObjIntConsumer<ByteBuffer>> sumByForeignFunctions(HvdConfig config) {
        return byForeignFunctions(config)
                .map(library -> MpiBinding.toLibrary(library).world())
                .map(world -> (floats, count) -> world.allreduce(floats, count, DType.FLOAT32, ReduceOp.SUM));
    }

    /** The local Maven repository in which mpi.jar is looked for. */
    public static Path localRepository() {
        return MpiJar.localRepository();
    }

    /** Whether MPI can be used here. */
    public static boolean isInstalled(HvdConfig config) {
        return missing(config).isEmpty();
    }

    /**
     * Why MPI cannot be used here; empty if hvd finds a way to one. Where MPI runs in this process there is one, even if it
     * can open no more files to look.
     */
    public static Optional<String> missing(HvdConfig config) {
        return MpiProcess.ofThisProcess().isStarted() ? Optional.empty() : MpiBinding.missing(config);
    }
}
