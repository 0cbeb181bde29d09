package io.hvd.job;

import io.hvd.backend.ProcessProvider;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.config.LauncherFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.TransportProvider;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.nccl.NcclProvider;
import io.hvd.transport.tcp.TcpProvider;
import java.util.List;
import java.util.Optional;
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
            boolean launched = config.started().byLauncher()
                    || config.control().gloo() && config.started().place().isPresent();
            choice = launched ? BackendChoice.NCCL : BackendChoice.LOCAL;
        }
        return switch (choice) {
            case MPI -> new ProcessProvider(betweenProcesses(config));
            // Without a GPU, or without NCCL, it is the transport alone, unless the setting asks for NCCL by name.
            case NCCL -> new NcclProvider(new ProcessProvider(betweenProcesses(config)), GpuAssignment::assign);
            case TCP ->
                config.started().place().isPresent() || config.started().byLauncher()
                        ? new ProcessProvider(betweenProcesses(config))
                        : alone(config, joined);
            default -> alone(config, joined);
        };
    }

    /**
     * The back end of a rank that is a task of a cluster: TCP with shared memory inside a host, and NCCL where there are GPUs.
     *
     * @throws HvdException if the settings ask for something else
     */
    static BackendProvider ofTask(TaskPlace place, HvdConfig config) {
        if (config.transport().isPresent() || config.backend() == BackendChoice.MPI) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    "HVD_BACKEND asks for "
                            + config.transport()
                                    .map(name -> "transport:" + name)
                                    .orElse("mpi") + " on rank "
                            + place.rank() + ", expected auto, tcp or nccl: TCP connects the tasks of a cluster");
        }
        if (place.size() == 1) {
            return alone(config, 0);
        }
        ProcessProvider processes = new ProcessProvider(TcpProvider.ofTask(place.rank()));
        return config.backend() == BackendChoice.TCP
                ? processes
                : new NcclProvider(processes, (topology, all) -> GpuAssignment.ofTask(place, topology, all));
    }

    private static BackendProvider alone(HvdConfig config, int joined) {
        return LocalProvider.alone(config.memory().stageBytes(), joined);
    }

    /** The transport between processes that a launcher has started. */
    static TransportProvider betweenProcesses(HvdConfig config) {
        LauncherFacts started = config.started();
        return switch (config.backend()) {
            case MPI -> new MpiProvider();
            case TCP -> new TcpProvider("");
            default -> {
                if (config.control().gloo()) {
                    yield new TcpProvider("");
                }
                if (config.control().mpi().isPresent()) {
                    requireMpi(config, config.control().mpi().get());
                    yield new MpiProvider();
                }
                if (!started.ofMpi() && started.byLauncher()) {
                    yield new TcpProvider("as no launcher of MPI's has started the ranks");
                }
                // A jar that the user names is used, or refused for its reason.
                Optional<String> missing =
                        config.mpi().jar().isPresent() ? Optional.empty() : MpiProvider.missing(config);
                if (missing.isPresent() && !started.meets()) {
                    started.place()
                            .filter(place -> place.size() > 1)
                            .ifPresent(place -> requireJar(config, place.noMeeting()));
                }
                yield missing.filter(why -> started.meets())
                        .<TransportProvider>map(why -> new TcpProvider("as " + why))
                        .orElseGet(MpiProvider::new);
            }
        };
    }

    /** Refuses ranks that only TCP could connect, which nobody would see in a job that has been asked to use MPI. */
    private static void requireMpi(HvdConfig config, String asked) {
        if (!config.started().ofMpi()) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    asked
                            + " asks for MPI, but no launcher of MPI's has started this rank: start the ranks with mpirun,"
                            + " or leave it out, and TCP connects them");
        }
        if (MpiProvider.missing(config).isPresent()) {
            requireJar(config, "leave out " + asked + ", which asks for it");
        }
    }

    /** Says what MPI lacks, and what would do without it. */
    private static void requireJar(HvdConfig config, String without) {
        try {
            MpiProvider.jar(config);
        } catch (HvdException e) {
            throw new HvdException(e.id(), e.words() + ". Or go without MPI: " + without, e);
        }
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
        config.started().whyNotAlone(config.backend() == BackendChoice.MPI).ifPresent(why -> {
            throw new HvdException(ErrorId.INIT_FAILED, why);
        });
    }
}
