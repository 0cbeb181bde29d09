package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.spi.TransportProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;

/** Connects processes by Open MPI's Java bindings. */
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

    /** The local Maven repository in which mpi.jar is looked for. */
    public static Path localRepository() {
        return MpiJar.localRepository();
    }

    /** Whether MPI can be used here. */
    public static boolean isInstalled(HvdConfig config) {
        return missing(config).isEmpty();
    }

    /**
     * Why MPI cannot be used here; empty if an Open MPI and the mpi.jar of its version are installed. Where MPI runs in this
     * process they are, even if it can open no more files to look.
     */
    public static Optional<String> missing(HvdConfig config) {
        if (MpiProcess.ofThisProcess().isStarted() || config.mpi().library().isPresent()) {
            return Optional.empty();
        }
        try {
            jar(config);
            return MpiClassLoader.hasBindings() ? Optional.empty() : Optional.of("hvd was built without mpi.jar");
        } catch (HvdException missing) {
            return Optional.of("there is no Open MPI with its mpi.jar");
        }
    }
}
