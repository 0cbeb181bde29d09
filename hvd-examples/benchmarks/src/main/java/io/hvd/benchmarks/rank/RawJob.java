package io.hvd.benchmarks.rank;

import io.hvd.backend.mpi.MpiProvider;
import io.hvd.backend.shm.SharedProvider;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Runs hvd's data plane without the engine, and MPI beside it, both on the one thread that may call MPI. */
final class RawJob {
    private RawJob() {}

    /** The work on that thread. */
    interface Body {
        void run(Backend hvd, MpiCalls mpi);
    }

    /** Runs the work; all ranks call this together, with no hvd context open. */
    static void run(Body body) {
        MpiProvider provider = MpiProvider.ofThisProcess();
        onItsThread(() -> {
            HvdConfig config = HvdConfig.fromEnvironment();
            MpiCalls mpi;
            try (Backend plain = provider.open(config, List.of())) {
                mpi = MpiCalls.beside(plain);
            }
            try (Backend hvd = new SharedProvider(provider).open(config, List.of())) {
                body.run(hvd, mpi);
            }
        });
    }

    /** A back end's description without its details, such as {@code shared memory over mpi}. */
    static String way(String description) {
        return description.replaceAll(" \\([^)]*\\)", "");
    }

    /** Calls MPI_Finalize; the last call of a rank that has used {@link #run}. */
    static void finish() {
        onItsThread(MpiProvider.ofThisProcess()::finish);
    }

    private static void onItsThread(Runnable work) {
        FutureTask<Void> task = new FutureTask<>(work, null);
        MpiProvider.ofThisProcess().communicationThread().execute(task);
        try {
            task.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the benchmark failed on MPI's thread", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the benchmark ran", e);
        }
    }
}
