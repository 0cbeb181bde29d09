package io.hvd.engine;

import io.hvd.engine.Engine.Submission;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells the recorder of what the program submits. To find the line that calls costs more than all the rest of a
 * submission, so a call of a static plan is taken to come from the line of the same call one step before.
 */
final class SteadyCalls {
    private final FlightRecorder recorder;
    private final StepFollower steps;
    private final Map<String, Known> known = new ConcurrentHashMap<>();

    SteadyCalls(FlightRecorder recorder, StepFollower steps) {
        this.recorder = recorder;
        this.steps = steps;
    }

    private record Known(int set, Request request, Call before) {}

    /** Any thread. */
    Call submitted(Submission asked) {
        Request request = asked.request();
        if (!steps.plans(request.name())) {
            return recorder.submitted(operation(asked));
        }
        Known known = this.known.get(request.name());
        if (known != null && known.set() == asked.set() && known.request().equals(request)) {
            return recorder.submittedAgain(known.before());
        }
        Call call = recorder.submitted(operation(asked));
        this.known.put(request.name(), new Known(asked.set(), request, call));
        return call;
    }

    private static Call.Operation operation(Submission asked) {
        Request request = asked.request();
        String detail = request.kind().isTransfer()
                        || request.shape().rank() > 0
                        || request.shape().elements() > 0
                ? request.dtype() + request.shape().toString()
                : "";
        return new Call.Operation(request.kind().toString(), request.name(), detail, asked.set(), asked.members());
    }
}
