package io.hvd.job;

import io.hvd.backend.ProcessProvider;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.TransportProvider;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.nccl.NcclProvider;
import java.util.List;
import java.util.ServiceLoader;

/** Chooses the back end of this process by the settings and by the launcher that started it. */
final class BackendSelection {
    private BackendSelection() {}

    /**
     * @param joined jobs that this process has joined before
     * @throws HvdException if the process has no launcher that it could not do without
     */
    static BackendProvider choose(HvdConfig config, int joined) {
        if (config.transport().isPresent()) {
            return new ProcessProvider(transport(config.transport().get()));
        }
        BackendChoice choice = config.backend();
        if (choice != BackendChoice.LOCAL) {
            requireLauncher(config);
        }
        if (choice == BackendChoice.AUTO) {
            choice = config.started().byLauncher() ? BackendChoice.NCCL : BackendChoice.LOCAL;
        }
        return switch (choice) {
            case MPI -> new ProcessProvider(new MpiProvider());
            // Without a GPU, or without NCCL, it is MPI alone, unless the setting asks for NCCL by name.
            case NCCL -> new NcclProvider(new ProcessProvider(new MpiProvider()), GpuAssignment::assign);
            default -> LocalProvider.alone(config.memory().stageBytes(), joined);
        };
    }

    private static TransportProvider transport(String name) {
        List<TransportProvider> found = ServiceLoader.load(TransportProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
        return found.stream()
                .filter(provider -> provider.name().equalsIgnoreCase(name))
                .findFirst()
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_SETTING,
                        "HVD_BACKEND is \"transport:" + name + "\", expected one of "
                                + found.stream().map(TransportProvider::name).toList()
                                + ", which are the names of the transports that META-INF/services shows"));
    }

    /**
     * The providers of ranks that are threads of this process, each with GPUs of its own if there are some and the
     * settings allow it.
     *
     * @param hosts the providers of their host back ends, by thread
     */
    static List<BackendProvider> ofThreads(List<? extends BackendProvider> hosts, HvdConfig config) {
        return takesGpus(config)
                ? hosts.stream()
                        .<BackendProvider>map(host -> new NcclProvider(host, GpuAssignment::assign))
                        .toList()
                : List.copyOf(hosts);
    }

    /** Whether ranks that are threads get GPUs; the back ends local and mpi, asked for by name, have none. */
    static boolean takesGpus(HvdConfig config) {
        return config.backend() == BackendChoice.AUTO || config.backend() == BackendChoice.NCCL;
    }

    /** Whether threads of this process are ranks of a job that has others. */
    static boolean isOneOfSeveral(HvdConfig config) {
        if (config.backend() == BackendChoice.AUTO) {
            requireLauncher(config);
        }
        return config.backend() != BackendChoice.LOCAL && config.started().withOthers();
    }

    /** Refuses processes of a launcher that does not make them ranks, since each would silently train alone. */
    private static void requireLauncher(HvdConfig config) {
        config.started().whyNotAlone().ifPresent(why -> {
            throw new HvdException(ErrorId.INIT_FAILED, why);
        });
    }
}
