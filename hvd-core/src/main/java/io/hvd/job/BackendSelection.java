package io.hvd.job;

import io.hvd.backend.local.LocalProvider;
import io.hvd.backend.mpi.MpiProvider;
import io.hvd.backend.nccl.NcclProvider;
import io.hvd.backend.shm.SharedProvider;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.BackendProvider;

/** Chooses the back end of this process by the settings and by the launcher that started it. */
final class BackendSelection {
    private BackendSelection() {}

    /** @throws HvdException if the process has no launcher that it could not do without */
    static BackendProvider choose(HvdConfig config) {
        BackendChoice choice = config.backend();
        if (choice != BackendChoice.LOCAL) {
            requireLauncher(config);
        }
        if (choice == BackendChoice.AUTO) {
            choice = config.startedByLauncher() ? BackendChoice.NCCL : BackendChoice.LOCAL;
        }
        return switch (choice) {
            case MPI -> new SharedProvider(MpiProvider.ofThisProcess());
            // Without a GPU, or without NCCL, it is MPI alone, unless the setting asks for NCCL by name.
            case NCCL -> new NcclProvider(new SharedProvider(MpiProvider.ofThisProcess()), GpuAssignment::assign);
            default -> LocalProvider.team(1, config.stageBytes()).get(0);
        };
    }

    /** Whether threads of this process are ranks of a job that has others. */
    static boolean isOneOfSeveral(HvdConfig config) {
        if (config.backend() == BackendChoice.AUTO) {
            requireLauncher(config);
        }
        return config.backend() != BackendChoice.LOCAL && config.startedWithOthers();
    }

    /** Refuses processes of a launcher that does not make them ranks, since each would silently train alone. */
    private static void requireLauncher(HvdConfig config) {
        config.whyNotAlone().ifPresent(why -> {
            throw new HvdException(ErrorId.INIT_FAILED, why);
        });
    }
}
