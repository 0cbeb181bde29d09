package io.hvd.engine.loop;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.engine.coordination.Coordinator;
import io.hvd.engine.execution.DataLog;
import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.PlanRun;
import io.hvd.engine.execution.ProcessSets;
import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Request;
import io.hvd.engine.plan.CallerRuns;
import io.hvd.engine.plan.DataPlaneLock;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.plan.PlanExit;
import io.hvd.engine.plan.PromptWaits;
import io.hvd.engine.plan.StepFollower;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.Autotuner;
import io.hvd.engine.tuning.CutAdvice;
import io.hvd.engine.tuning.NoCutAdvice;
import io.hvd.engine.tuning.NoTuner;
import io.hvd.engine.tuning.StepStudy;
import io.hvd.engine.tuning.StudiedCuts;
import io.hvd.engine.tuning.Tuner;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Puts one rank's engine together; used on the communication thread, on all ranks together. */
public final class EngineAssembly {
    private final Backend backend;
    private final Topology topology;
    private final Cores cores;
    private final EngineSettings settings;
    private final FlightRecorder recorder;
    private final Wakeup wakeup;
    private final TensorQueue queue;
    private final Departure departure;
    private final DeviceWork deviceWork;
    private final DataLog log;
    private final ProcessSets sets;

    /**
     * @param onFailure called once when the job cannot go on
     * @param programWaits whether a thread of the program waits for a result
     */
    public EngineAssembly(
            Backend backend,
            EngineSettings settings,
            FlightRecorder recorder,
            Consumer<String> onFailure,
            BooleanSupplier programWaits) {
        this.backend = backend;
        this.topology = backend.topology();
        this.cores = Cores.of(topology);
        this.settings = settings;
        this.recorder = recorder;
        this.wakeup = new Wakeup(backend.control());
        this.queue = new TensorQueue(Math.max(1, settings.fusionThresholdBytes()), settings.cycleNanos());
        this.departure = new Departure(topology, onFailure);
        this.deviceWork = new DeviceWork(departure::broken, programWaits);
        this.log = new DataLog(recorder);
        this.sets = new ProcessSets(backend, settings, log, queue);
    }

    /** @param processSets global ranks of the process sets that exist from the start, besides the set of all ranks */
    public EngineParts assemble(List<List<Integer>> processSets, AutotuneSettings autotune) {
        CoordinatorLink coordinator = link(processSets);
        PlanExit exit = PlanExit.open(backend, settings.staticPlanSteps() > 0 && !settings.strict(), wakeup::ring);
        AtomicBoolean optimizersRegroup = new AtomicBoolean();
        StepStudy study = new StepStudy(settings, cores.areTakenFromProgram());
        Tuner tuner = tuner(autotune, study, optimizersRegroup);
        CutAdvice advice = topology.rank() == 0 ? new StudiedCuts(study, tuner) : new NoCutAdvice();
        EngineParts parts =
                parts(coordinator, exit, tuner, advice, inForce(tuner, advice, optimizersRegroup), new DataPlaneLock());
        for (int i = 0; i < processSets.size(); i++) {
            sets.enter(i + 1, processSets.get(i));
        }
        return parts;
    }

    private EngineParts parts(
            CoordinatorLink coordinator,
            PlanExit exit,
            Tuner tuner,
            CutAdvice advice,
            SettingsInForce inForce,
            DataPlaneLock lock) {
        PromptWaits promptWaits = new PromptWaits(cores.ranks(), cores.cores());
        HeldPlan plan = new HeldPlan(queue, exit, promptWaits, advice, cores.areTakenFromProgram());
        StepFollower steps = new StepFollower(lock, sets.all(), plan, queue, log, deviceWork);
        CallerRuns callerRuns = new CallerRuns(lock, plan, steps);
        Sleep sleep = new Sleep(wakeup, backend.progress()::make, lock, steps);
        PlanRun run = new PlanRun(backend, sets, queue, log, deviceWork, tuner);
        return new EngineParts(
                backend,
                recorder,
                queue,
                wakeup,
                departure,
                deviceWork,
                sets,
                run,
                coordinator,
                inForce,
                exit,
                plan,
                steps,
                callerRuns,
                sleep);
    }

    private SettingsInForce inForce(Tuner tuner, CutAdvice advice, AtomicBoolean optimizersRegroup) {
        return new SettingsInForce(settings, queue, sets.all().data(), advice, tuner, optimizersRegroup);
    }

    private CoordinatorLink link(List<List<Integer>> processSets) {
        List<String> hosts = topology.hosts();
        if (topology.rank() != 0) {
            return new RemoteCoordinator(backend.control(), hosts);
        }
        Coordinator coordinator = new Coordinator(
                topology.size(), processSets, settings, this::ready, backend.collectives()::takesVetoes);
        return new LocalCoordinator(coordinator, backend.control(), hosts);
    }

    private void ready(int set, Request request, int from) {
        // Rank 0 records operations of its own sets only, and no transfers, which may be between two other ranks.
        if (sets.contains(set) && !(request instanceof Moving.Transfer)) {
            recorder.ready(set, request.kind().toString(), request.name(), from);
        }
    }

    private Tuner tuner(AutotuneSettings autotune, StepStudy study, AtomicBoolean optimizersRegroup) {
        if (!autotune.enabled() || topology.rank() != 0 || topology.size() == 1) {
            return NoTuner.of(settings);
        }
        int localSize = topology.homogeneous() ? topology.localSize() : 1;
        Autotuner.Job job =
                new Autotuner.Job(localSize, sets.all().data().levels().obstacle(), optimizersRegroup::get);
        return new Autotuner(autotune, settings, study, job);
    }
}
