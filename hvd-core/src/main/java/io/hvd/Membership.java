package io.hvd;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.timeline.Timeline;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;

/** A rank's place in a job from joining to leaving: its back end, its engine and its end. */
final class Membership {
    private final BackendProvider provider;
    private final Backend backend;
    private final int divergenceSteps;
    private final FlightRecorder recorder;
    private final UnreadResults unreadResults = new UnreadResults();
    private final List<List<Integer>> processSets;
    private final Optional<Timeline> timeline;
    private final Engine engine;
    private volatile boolean open = true;
    private volatile String failure = "";
    private volatile Device device = Device.CPU;

    private Membership(
            BackendProvider provider,
            Backend backend,
            HvdConfig config,
            List<List<Integer>> processSets,
            BiConsumer<Membership, String> onFailure) {
        this.provider = provider;
        this.backend = backend;
        this.divergenceSteps = config.debug().divergenceSteps();
        this.recorder = new FlightRecorder(config.debug().flightRecorderCalls());
        Topology topology = backend.topology();
        EngineSettings settings =
                topology.homogeneous() ? config.engine().forRanksPerHost(topology.localSize()) : config.engine();
        SameOnAllRanks.require(backend);
        this.processSets = StartingSets.agreed(processSets, backend);
        this.timeline = Timeline.open(backend, recorder, config.timeline());
        this.engine = new Engine(backend, this.processSets, settings, recorder, why -> {
            failure = why;
            timeline.ifPresent(writing -> writing.fail(why));
            onFailure.accept(this, why);
        });
    }

    /**
     * Joins the job and starts the engine on the back end's own thread.
     *
     * @param onFailure told once, on the communication thread, when the job cannot go on
     */
    static Membership join(
            BackendProvider provider, HvdConfig config, InitOptions options, BiConsumer<Membership, String> onFailure) {
        CompletableFuture<Membership> joined = new CompletableFuture<>();
        provider.communicationThread().execute(() -> {
            Membership membership;
            try {
                membership = new Membership(
                        provider, provider.open(config, options.ranks()), config, options.processSets(), onFailure);
            } catch (Throwable cause) {
                joined.completeExceptionally(cause);
                return;
            }
            joined.complete(membership);
            membership.engine.run();
        });
        try {
            return joined.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof HvdException known) {
                throw known;
            }
            throw new HvdException(
                    ErrorId.INIT_FAILED, "the " + provider.name() + " back end did not start: " + e.getCause(), e);
        }
    }

    int divergenceSteps() {
        return divergenceSteps;
    }

    UnreadResults unreadResults() {
        return unreadResults;
    }

    /** Members of the process sets from the start, besides the set of all ranks. */
    List<List<Integer>> processSets() {
        return processSets;
    }

    /** The engine, for a call that needs an open context. */
    Engine open(String call) {
        if (!open) {
            throw new NotInitialisedException(call);
        }
        return engine;
    }

    Engine engine() {
        return engine;
    }

    Topology topology() {
        return backend.topology();
    }

    String description() {
        return backend.description();
    }

    /** Empty unless HOROVOD_TIMELINE asks for it. */
    Optional<Timeline> timeline() {
        return timeline;
    }

    /** Hears of everything that happens on this rank. */
    FlightRecorder recorder() {
        return recorder;
    }

    Device device() {
        return device;
    }

    void pin(Device assigned) {
        device = assigned;
    }

    boolean isOpen() {
        return open;
    }

    /** Why the job cannot go on; empty as long as it can. */
    String failure() {
        return failure;
    }

    /** Leaves in order, once; {@code last} also ends what outlives a context. */
    synchronized void close(boolean last) {
        if (!open) {
            return;
        }
        engine.close(() -> timeline.ifPresent(Timeline::close));
        open = false;
        if (last) {
            finish();
        }
    }

    /** Ends MPI on the thread that started it, unless the job has failed. */
    void finish() {
        if (failure.isEmpty()) {
            CompletableFuture.runAsync(provider::finish, provider.communicationThread())
                    .join();
        }
    }

    /** Tells the other ranks why this one cannot go on; they need not wait for it. */
    void fail(String why, long limitMillis) {
        engine.fail(why, limitMillis);
    }

    /** Ends every rank's process; any thread. */
    void abort(int exitCode, String why) {
        backend.abort(exitCode, why);
    }
}
