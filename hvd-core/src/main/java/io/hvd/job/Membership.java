package io.hvd.job;

import io.hvd.buffer.BufferLedger;
import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.error.NotInitialisedException;
import io.hvd.job.failure.FailureHandler;
import io.hvd.job.failure.JobFailure;
import io.hvd.job.failure.JobMember;
import io.hvd.log.HvdLogger;
import io.hvd.monitor.Monitor;
import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.Backend;
import io.hvd.spi.OpKind;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.timeline.Timeline;
import io.hvd.trace.Call;
import io.hvd.trace.CallSite;
import io.hvd.trace.FlightRecorder;
import io.hvd.transport.mpi.MpiProcess;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.mpi.openmpi.MpiFinalization;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** A rank's place in a job from joining to leaving: its generation, and how that ends. Any thread may use it. */
public final class Membership implements JobMember {
    /** Time for the engine to notice a death too, unless it is inside MPI; it knows more about it than the monitor. */
    private static final long ENGINE_FIRST_MILLIS = 30;

    private static final HvdLogger LOG = HvdLogger.of(Membership.class);
    private final JobSettings settings;
    private final FailureHandler policy;
    private final FlightRecorder recorder;
    private final List<List<Integer>> processSets;
    private final Optional<Timeline> timeline;
    private final Generation generation;
    private final RankDevices devices;
    /** Empty where no MPI is to be ended. */
    private final Optional<MpiFinalization> finalization;

    private final UnreadResults unreadResults = new UnreadResults();
    private final JobFailure failure = new JobFailure();
    private volatile boolean open = true;
    /** The thread and the line that closed it; empty while it is open. */
    private volatile String end = "";

    private volatile boolean threadsSpeak;
    /** The ranks whose hosts this rank's monitor has found unreachable. */
    private volatile List<Integer> unreachable = List.of();

    /** On the communication thread, on all ranks together. */
    Membership(JoinRequest request, List<List<Integer>> processSets, Backend backend, Peers peers, Thread initialiser) {
        this.settings = request.settings();
        this.policy = request.policy();
        this.recorder = new FlightRecorder(config().monitor().flightRecorderCalls());
        recorder.joined(JobFacts.of(backend, settings.variables()));
        this.processSets = InitialProcessSets.agreed(processSets, backend);
        this.timeline = Timeline.open(backend, recorder, config().timeline());
        this.devices = new RankDevices(backend.topology().rank());
        this.finalization = endOfMpi(backend);
        this.generation = new Generation(
                backend.bootstrap().generation(),
                backend,
                new Engine(
                        backend,
                        this.processSets,
                        settingsFor(backend, config().engine()),
                        config().autotune(),
                        recorder,
                        this::engineGivesUp),
                Monitor.start(recorder, initialiser, config().monitor(), peers, new Alarm()));
        BufferLedger.PROCESS.joined(name());
    }

    private static Optional<MpiFinalization> endOfMpi(Backend backend) {
        return backend.transport().equals(MpiProvider.NAME)
                ? Optional.of(MpiFinalization.of(
                        MpiProcess.ofThisProcess(), backend.topology().size()))
                : Optional.empty();
    }

    /** Hosts with different numbers of ranks have no size in common that a fused operation could be cut into. */
    static EngineSettings settingsFor(Topology topology, EngineSettings asked) {
        return topology.homogeneous() ? asked.forRanksPerHost(topology.localSize()) : asked;
    }

    private static EngineSettings settingsFor(Backend backend, EngineSettings asked) {
        EngineSettings settings = settingsFor(backend.topology(), asked);
        return backend.collectives().levels().choice().isEmpty() ? settings.withoutChoiceOfLevels() : settings;
    }

    /** Gives up the job for a reason that comes from outside of it; every call that waits for another rank throws. */
    public void giveUpFor(String why) {
        if (open) {
            giveUp(why);
        }
    }

    /** The ranks whose hosts give no sign of life, as far as this rank itself has found out. */
    public List<Integer> unreachable() {
        return unreachable;
    }

    /** Gives up the job for a reason that the engine is about to pass on to the waiting threads. */
    private void engineGivesUp(String why) {
        threadsSpeak = engine().isAwaited();
        giveUp(why);
    }

    /** The job cannot go on, as this rank has found. The first to find out says why. */
    private void giveUp(String why) {
        if (follow(why)) {
            monitor().giveUp(name() + " on " + topology().host() + ": " + why);
        }
    }

    /** @return false if this rank has known it before */
    private boolean follow(String why) {
        boolean first = failure.is(why);
        if (first) {
            timeline.ifPresent(writing -> writing.fail(why));
            policy.failed(this, why);
        }
        return first;
    }

    /** Hears of the monitor's findings. */
    private final class Alarm implements Monitor.Alarm {
        @Override
        public void found(HangReport report) {
            policy.hangFound(Membership.this, report);
        }

        @Override
        public void hung(HangReport report) {
            policy.hung(Membership.this, report);
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
                unreachable = List.copyOf(ranks);
                giveUp("host " + host + " with ranks " + ranks
                        + " has disappeared: it gives no sign of life and answers no call");
            }
        }

        @Override
        public void givenUp(String why) {
            if (awaitFailure().isEmpty() && open) {
                follow(why);
            }
        }
    }

    @Override
    public HvdConfig config() {
        return settings.config();
    }

    /** Warns of results that the program does not look at. */
    public UnreadResults unreadResults() {
        return unreadResults;
    }

    /** Members of the process sets from the start, besides the set of all ranks. */
    public List<List<Integer>> processSets() {
        return processSets;
    }

    /**
     * The members of a new process set in ascending order.
     *
     * @throws io.hvd.error.HvdException if a rank is named twice or does not exist
     */
    public List<Integer> members(List<Integer> ranks) {
        return InitialProcessSets.members("process set", ranks, topology().size());
    }

    /**
     * The engine, for a call that needs an open context.
     *
     * @throws NotInitialisedException if this rank has left the job
     */
    public Engine open(String call) {
        if (!open) {
            throw closed(call);
        }
        return engine();
    }

    /** Does what {@link #open(String)} does, but makes the name of the call only for an error. */
    public Engine open(OpKind call) {
        if (!open) {
            throw closed(call.toString());
        }
        return engine();
    }

    /** The exception for a call after this rank has left. */
    public NotInitialisedException closed(String call) {
        return new NotInitialisedException(
                call,
                "but the context of rank " + topology().rank() + " of "
                        + topology().size() + " has been closed, " + end
                        + ": call it before that, or join a new job with Hvd.init() first");
    }

    /** The exception of a prepared collective after this rank has left: it does not come along into another generation. */
    public NotInitialisedException generationOver(String prepared) {
        return new NotInitialisedException(
                prepared,
                "but its generation is over: the context of rank " + topology().rank() + " of "
                        + topology().size() + " in which it was prepared has been closed, " + end
                        + ". Prepare it anew in the new context, after Hvd.init()");
    }

    public Engine engine() {
        return generation.engine();
    }

    /** The number of this job, higher than those of the jobs that any of its ranks was in before. */
    public int generation() {
        return generation.number();
    }

    @Override
    public Topology topology() {
        return generation.topology();
    }

    /** The line of the program that has called hvd. */
    public String callerLine() {
        return CallSite.current();
    }

    @Override
    public boolean isAlone() {
        return topology().size() == 1 && !config().started().byLauncher();
    }

    /** The back end and why it was chosen. */
    public String description() {
        return generation.backend().description();
    }

    /** Empty unless HOROVOD_TIMELINE asks for it. */
    public Optional<Timeline> timeline() {
        return timeline;
    }

    /** Hears of everything that happens on this rank. */
    public FlightRecorder recorder() {
        return recorder;
    }

    /** This rank's GPUs; none if it computes on the CPU. */
    public List<Device> devices() {
        return devices.all();
    }

    void assign(List<Device> assigned) {
        devices.assign(assigned);
    }

    /**
     * The device of a tensor as all ranks know it: by its place among this rank's own.
     *
     * @throws io.hvd.error.HvdException if it is another rank's
     */
    public Device place(String tensor, Device device) {
        return devices.place(tensor, device);
    }

    /** The name of the transport between processes, such as {@code mpi}; {@code local} if there is none. */
    public String transport() {
        return generation.backend().transport();
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public String failure() {
        return failure.words();
    }

    @Override
    public String awaitFailure() {
        return failure.await(ENGINE_FIRST_MILLIS);
    }

    @Override
    public boolean threadsSpeak() {
        return threadsSpeak;
    }

    @Override
    public Monitor monitor() {
        return generation.monitor();
    }

    /**
     * Announces long work of this rank, for which the other ranks wait without a warning and beyond the limit.
     *
     * @param what name of the work, for the report of a hang
     * @param atMost budget; once it is used up, the whole wait of the other ranks counts
     * @return an action to run when the work is done; running it again does nothing
     */
    public Runnable phase(String what, Duration atMost) {
        return monitor().phase(what, atMost);
    }

    /** Leaves the job in order, once. @param last whether to end MPI too, which outlives a context otherwise */
    public synchronized void close(boolean last) {
        if (!open) {
            return;
        }
        Call leaving = recorder.submitted(new Call.Operation("close", "HvdContext.close", "", 0, everybody()));
        engine().close(() -> timeline.ifPresent(Timeline::close));
        recorder.ended(leaving, failure());
        end = "by thread " + Thread.currentThread().getName() + " at " + CallSite.current();
        open = false;
        monitor().close();
        unreadResults.look();
        if (last) {
            finish();
        }
        BufferLedger.PROCESS.left(name()).forEach(one -> LOG.warn("not given back: {}", one));
    }

    private String name() {
        return "rank " + topology().rank() + " of " + topology().size();
    }

    private List<Integer> everybody() {
        return IntStream.range(0, topology().size()).boxed().toList();
    }

    /** Closes the monitor of a rank that is given up while its process goes on. */
    void stopWatching() {
        monitor().close();
    }

    @Override
    public synchronized void finish() {
        if (failure().isEmpty()) {
            finalization.ifPresent(mpi -> mpi.run(limitMillis -> policy.heldUp(this, limitMillis)));
        }
    }

    @Override
    public Optional<MpiFinalization> finalization() {
        return finalization;
    }

    @Override
    public void fail(String why, long limitMillis) {
        engine().fail(why, limitMillis);
    }

    /** Gives back the connections of a job that has failed. On the communication thread, after the engine's end. */
    void discard() {
        generation.backend().discard();
    }

    @Override
    public void abandon(String why) {
        generation.backend().abandon(why);
    }
}
