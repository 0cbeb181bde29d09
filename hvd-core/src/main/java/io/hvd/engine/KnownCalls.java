package io.hvd.engine;

import io.hvd.engine.Engine.Submission;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells the recorder of what the program submits. To find the line that calls costs more than all the rest of a
 * submission, so a call that asks for the same as the last one of its name is taken to come from the same line. Not in
 * strict mode, which shows the lines of calls that differ.
 */
final class KnownCalls {
    /** More than a model has tensors. Operations without a name have a new one each time, and are not to fill the memory. */
    static final int MOST_NAMES = 4096;

    private final FlightRecorder recorder;
    private final boolean strict;
    private final Map<PendingOp.Key, Known> known = new ConcurrentHashMap<>();

    KnownCalls(FlightRecorder recorder, boolean strict) {
        this.recorder = recorder;
        this.strict = strict;
    }

    private record Known(Request request, Call.Operation operation, String site) {}

    /** Any thread. */
    Call submitted(Submission asked) {
        if (strict) {
            return recorder.submitted(operation(asked));
        }
        var key = new PendingOp.Key(asked.set(), asked.request().name());
        Known last = known.get(key);
        if (last != null && last.request().equals(asked.request())) {
            return recorder.submittedFrom(last.site(), last.operation());
        }
        Call call = recorder.submitted(operation(asked));
        if (known.size() >= MOST_NAMES) {
            known.clear();
        }
        known.put(key, new Known(asked.request(), call.operation(), call.site()));
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
