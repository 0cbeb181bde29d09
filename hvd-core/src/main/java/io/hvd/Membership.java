package io.hvd;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.config.StallSettings;
import io.hvd.engine.Engine;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.monitor.HangReport;
import io.hvd.monitor.Monitor;
import io.hvd.monitor.MonitorSettings;
import io.hvd.monitor.Peers;
import io.hvd.monitor.Phase;
import io.hvd.monitor.Self;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.OpKind;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.timeline.Timeline;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/** A rank's place in a job from joining to leaving: its back end, its engine and its end. */
final class Membership {
    /** In which the engine hears of a death as well, unless it sits inside MPI. It knows more than the monitor. */
    private static final long ENGINE_FIRST_MILLIS = 30;
    /** For MPI_Finalize, from when every rank is about to call it; it takes a fraction of a second. */
    private static final long FINALIZE_MILLIS = 10_000;
    /** And so much more for each rank of a large job. */
    private static final long FINALIZE_MILLIS_PER_RANK = 10;

    private final BackendProvider provider;
    private final Events events;
    private final Backend backend;
    private final int divergenceSteps;
    private final boolean compressOnOneHost;
    private final FlightRecorder recorder;
    private final UnreadResults unreadResults = new UnreadResults();
    private final List<List<Integer>> processSets;
    private final Optional<Timeline> timeline;
    private final Engine engine;
    private final Monitor monitor;
    private final FirstFailure failure = new FirstFailure();
    private boolean finishing;
    /** Whether every rank of the job has come to the end of MPI. */
    private volatile boolean met;
    /** Whether MPI_Finalize has not returned in time. */
    private volatile boolean heldUp;

    private volatile boolean open = true;
    private volatile boolean threadsSpeak;
    private volatile List<Device> devices = List.of();

    /** Hears how it goes with the job. */
    interface Events {
        /** This rank knows its place among the others; told on the communication thread. */
        default void placed(Topology topology) {}

        /** The job cannot go on; told once. */
        void failed(Membership member, String why);

        /** This rank has found a hang and is about to tell the others, which end then; told on a thread of the monitor. */
        default void hangFound(Membership member, HangReport hang) {}

        /** MPI_Finalize does not return although every rank has called it; the rank goes on without. */
        default void heldUp(Membership member, long millis) {}

        /** A hang has been reported; told once, on a thread of the monitor. */
        void hung(Membership member, HangReport hang);
    }

    /** Finds the other ranks' monitors; called on the communication thread by all ranks together. */
    interface MonitorPeers {
        Peers connect(Backend backend) throws IOException;
    }

    /** On the communication thread. */
    private Membership(Place place, List<List<Integer>> processSets, Backend backend, Peers peers, Thread initialiser) {
        HvdConfig config = place.config;
        this.provider = place.provider;
        this.backend = backend;
        this.divergenceSteps = config.debug().divergenceSteps();
        this.compressOnOneHost = config.compressOnOneHost();
        this.recorder = new FlightRecorder(config.debug().flightRecorderCalls());
        EngineSettings settings = settingsFor(backend.topology(), config.engine());
        this.processSets = StartingSets.agreed(processSets, backend);
        this.timeline = Timeline.open(backend, recorder, config.timeline());
        this.events = place.events;
        this.engine = new Engine(backend, this.processSets, settings, recorder, this::engineGivesUp);
        Self self = new Self(recorder, initialiser, Thread.currentThread());
        this.monitor = Monitor.start(self, patience(config), peers, new Alarm());
    }

    /** Those who wait are about to hear it from the engine. */
    private void engineGivesUp(String why) {
        threadsSpeak = engine.isAwaited();
        giveUp(why);
    }

    /** The job cannot go on. The first to find out says why. */
    private void giveUp(String why) {
        if (failure.is(why)) {
            timeline.ifPresent(writing -> writing.fail(why));
            events.failed(this, why);
        }
    }

    /** What the monitor finds out. */
    private final class Alarm implements Monitor.Alarm {
        @Override
        public void found(HangReport report) {
            events.hangFound(Membership.this, report);
        }

        @Override
        public void hung(HangReport report) {
            events.hung(Membership.this, report);
        }

        @Override
        public void died(List<Integer> ranks) {
            if (awaitFailure().isEmpty() && open) {
                giveUp("the processes of ranks " + ranks + " on this host are gone");
            }
        }

        @Override
        public void unreachable(String host, List<Integer> ranks) {
            if (open) {
                giveUp("host " + host + " with ranks " + ranks
                        + " has disappeared: it gives no sign of life and answers no call");
            }
        }
    }

    /** Hosts with different numbers of ranks have no size in common that a fused operation could be cut into. */
    static EngineSettings settingsFor(Topology topology, EngineSettings asked) {
        return topology.homogeneous() ? asked.forRanksPerHost(topology.localSize()) : asked;
    }

    private static MonitorSettings patience(HvdConfig config) {
        StallSettings stall = config.stall();
        return new MonitorSettings(
                stall.enabled() ? Duration.ofSeconds(stall.warningSeconds()) : Duration.ZERO,
                stall.enabled() ? Duration.ofSeconds(stall.shutdownSeconds()) : Duration.ZERO,
                config.debug().reportFolder());
    }

    /** Where a rank joins: through whom, with which settings, and who hears of its end. */
    record Place(BackendProvider provider, HvdConfig config, MonitorPeers peers, Events events) {}

    /**
     * Joins the job and starts the engine on the back end's own thread.
     *
     * @param options as in {@link Hvd#init(InitOptions)}
     */
    static Membership join(Place place, InitOptions options) {
        CompletableFuture<Membership> joined = new CompletableFuture<>();
        Thread initialiser = Thread.currentThread();
        place.provider.communicationThread().execute(() -> {
            Membership membership;
            try {
                Backend backend = place.provider.open(place.config, options.ranks());
                place.events.placed(backend.topology());
                SameOnAllRanks.require(backend);
                membership = new Membership(
                        place, options.processSets(), backend, place.peers.connect(backend), initialiser);
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
                    ErrorId.INIT_FAILED,
                    "the " + place.provider.name() + " back end did not start: " + e.getCause(),
                    e);
        }
    }

    int divergenceSteps() {
        return divergenceSteps;
    }

    /** How the tensors of a process set travel. */
    WireTypes wireTypes(List<Integer> ranks) {
        return new WireTypes(topology(), ranks, compressOnOneHost);
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

    Engine open(OpKind call) {
        if (!open) {
            throw new NotInitialisedException(call.toString());
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

    /** This rank's GPUs; none if it computes on the CPU. */
    List<Device> devices() {
        return devices;
    }

    void pin(List<Device> assigned) {
        devices = List.copyOf(assigned);
    }

    /** The device of a tensor as all ranks know it: by its place among this rank's own. */
    Device place(String tensor, Device device) {
        if (device.isCpu()) {
            return device;
        }
        if (devices.isEmpty()) {
            // Refused by the back end, on all ranks alike.
            return Device.cuda(0);
        }
        int place = devices.indexOf(device);
        if (place < 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "tensor \"" + tensor + "\" lies on " + device + ", but rank "
                            + topology().rank() + " has " + devices
                            + "; HVD_GPUS_PER_RANK says how many GPUs a rank has");
        }
        return Device.cuda(place);
    }

    boolean isOpen() {
        return open;
    }

    /** Why the job cannot go on; empty as long as it can. */
    String failure() {
        return failure.words();
    }

    /** Waits a moment for a failure that is to be expected, because the engine may be about to hear of it. */
    String awaitFailure() {
        return failure.await(ENGINE_FIRST_MILLIS);
    }

    /** Whether threads that have waited for a result are about to throw, each with more to say than the failure itself. */
    boolean threadsSpeak() {
        return threadsSpeak;
    }

    /** Knows the other ranks' processes. */
    Monitor monitor() {
        return monitor;
    }

    /**
     * Known long work of this rank, for which the others wait without a warning and beyond the limit.
     *
     * @param atMost budget; from its end on the others' whole wait counts
     * @return to be closed when the work is done
     */
    Phase phase(String what, Duration atMost) {
        return monitor.phase(what, atMost);
    }

    /** Leaves in order, once; {@code last} also ends what outlives a context. */
    synchronized void close(boolean last) {
        if (!open) {
            return;
        }
        Call leaving = recorder.submitted(new Call.Operation("close", "HvdContext.close", "", 0, everybody()));
        engine.close(() -> timeline.ifPresent(Timeline::close));
        recorder.ended(leaving, failure());
        open = false;
        monitor.close();
        if (last) {
            finish();
        }
    }

    private List<Integer> everybody() {
        return IntStream.range(0, topology().size()).boxed().toList();
    }

    /** Where a rank is given up but its process lives on. */
    void stopWatching() {
        monitor.close();
    }

    /**
     * Ends MPI on the thread that started it, unless the job has failed. A rank that still works is waited for; once all
     * have come here, MPI has a limit, for a foreign connection to one of Open MPI's ports can hold it up for ever. Only
     * the first call does anything.
     */
    synchronized void finish() {
        if (finishing || !failure().isEmpty()) {
            return;
        }
        finishing = true;
        Executor thread = provider.communicationThread();
        met = CompletableFuture.supplyAsync(provider::meet, thread).join();
        CompletableFuture<Void> finalized = CompletableFuture.runAsync(provider::finish, thread);
        if (!met) {
            finalized.join();
            return;
        }
        long limit = finalizeMillis();
        if (!isDoneWithin(finalized, limit)) {
            heldUp = true;
            events.heldUp(this, limit);
        }
    }

    /** An interrupt is for the program; leaving MPI half-way would make a failure of it. */
    private static boolean isDoneWithin(CompletableFuture<Void> task, long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new CompletionException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private long finalizeMillis() {
        return FINALIZE_MILLIS + FINALIZE_MILLIS_PER_RANK * topology().size();
    }

    /**
     * This rank's process ends in order. On the thread that ends it.
     *
     * @param well whether with exit code zero
     * @return whether the processes of all ranks are about to end well although MPI_Finalize has not returned here
     */
    boolean leave(boolean well) {
        return provider.leave(well, heldUp, Duration.ofMillis(2 * finalizeMillis()));
    }

    /** Whether every rank of the job has come to the end of MPI, so that one that is gone has not failed. */
    boolean hasMet() {
        return met;
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
