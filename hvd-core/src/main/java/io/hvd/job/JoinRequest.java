package io.hvd.job;

import io.hvd.config.ControlSettings;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.failure.FailureHandler;
import io.hvd.monitor.peers.Peers;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.transport.mpi.MpiProcess;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * A rank's request to join, with the provider of its back end, its settings, and the handling of a failure.
 *
 * @param peers finds the other ranks' monitors
 */
record JoinRequest(BackendProvider provider, JobSettings settings, MonitorPeers peers, FailureHandler policy) {
    /** That of a rank whose monitor finds those of other processes at sockets, as the settings say. */
    static JoinRequest bySockets(BackendProvider provider, JobSettings settings, FailureHandler policy) {
        ControlSettings control = settings.config().control();
        return new JoinRequest(
                provider,
                settings,
                backend -> Peers.connect(backend, control.networkInterface(), control.ports(), control.encryption()),
                policy);
    }

    /** Finds the other ranks' monitors; called on the communication thread by all ranks together. */
    interface MonitorPeers {
        Peers connect(Backend backend) throws IOException;
    }

    /**
     * Joins the job and starts the engine on the back end's own thread.
     *
     * @param ranks world ranks that take part, in their new order; empty means all
     * @param processSets global ranks of the process sets that are there from the start
     * @param hooks the startup hooks of this process
     */
    Membership join(List<Integer> ranks, List<List<Integer>> processSets, StartupHooks hooks) {
        CompletableFuture<Membership> joined = new CompletableFuture<>();
        Opening opening = new Opening();
        Thread initialiser = Thread.currentThread();
        provider.communicationThread().execute(() -> {
            Membership membership;
            opening.begin();
            try {
                membership = open(ranks, processSets, hooks, initialiser);
            } catch (Throwable cause) {
                joined.completeExceptionally(cause);
                return;
            } finally {
                opening.end();
            }
            joined.complete(membership);
            membership.engine().run();
            if (policy.goesOn() && !membership.failure().isEmpty()) {
                membership.discard();
            }
        });
        return await(joined, opening);
    }

    /** The communication thread while it opens the back end, which an interrupt of the caller ends. */
    private static final class Opening {
        /** Null before and after. */
        private Thread thread;

        private boolean interrupted;

        synchronized void begin() {
            thread = Thread.currentThread();
            if (interrupted) {
                thread.interrupt();
            }
        }

        synchronized void interrupt() {
            interrupted = true;
            if (thread != null) {
                thread.interrupt();
            }
        }

        /** The thread goes on with other things, which nobody has interrupted. */
        synchronized void end() {
            thread = null;
            Thread.interrupted();
        }
    }

    /** Opens the back end and joins the job. Runs on the communication thread. */
    private Membership open(
            List<Integer> ranks, List<List<Integer>> processSets, StartupHooks hooks, Thread initialiser)
            throws IOException {
        Backend backend = provider.open(settings.config(), ranks);
        try {
            policy.placed(backend.topology());
            ConsistencyCheck.require(backend, settings, hooks);
            return new Membership(this, processSets, backend, peers.connect(backend), initialiser);
        } catch (RuntimeException | IOException e) {
            backend.discard();
            throw e;
        }
    }

    private Membership await(CompletableFuture<Membership> joined, Opening opening) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    CompletableFuture.anyOf(joined, MpiProcess.ofThisProcess().stuck())
                            .get();
                    return joined.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                    opening.interrupt();
                }
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof HvdException known) {
                throw known;
            }
            throw new HvdException(
                    ErrorId.INIT_FAILED, "the " + provider.name() + " back end did not start: " + e.getCause(), e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
