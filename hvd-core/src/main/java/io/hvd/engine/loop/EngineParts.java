package io.hvd.engine.loop;

import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.PlanRun;
import io.hvd.engine.execution.ProcessSets;
import io.hvd.engine.plan.CallerRuns;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.plan.PlanExit;
import io.hvd.engine.plan.StepFollower;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.spi.Backend;
import io.hvd.trace.FlightRecorder;

/**
 * The parts of one rank's engine, as {@link EngineAssembly} puts them together.
 *
 * @param queue filled by threads of the program
 * @param wakeup wakes the communication thread
 * @param exit takes all ranks out of a static plan
 * @param plan the static plan as threads of the program see it
 * @param steps the static plan as the thread sees it that works in the data plane
 */
public record EngineParts(
        Backend backend,
        FlightRecorder recorder,
        TensorQueue queue,
        Wakeup wakeup,
        Departure departure,
        DeviceWork deviceWork,
        ProcessSets sets,
        PlanRun run,
        CoordinatorLink coordinator,
        SettingsInForce settings,
        PlanExit exit,
        HeldPlan plan,
        StepFollower steps,
        CallerRuns callerRuns,
        Sleep sleep) {}
