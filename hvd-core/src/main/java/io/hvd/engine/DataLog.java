package io.hvd.engine;

import io.hvd.spi.Activities;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;

/**
 * Says whose batch the data plane is working on. A batch's activities are reported once, on behalf of
 * its first operation. Used by whoever has the turn in the data plane.
 */
final class DataLog implements Activities {
    private final FlightRecorder recorder;
    private Call batch;

    DataLog(FlightRecorder recorder) {
        this.recorder = recorder;
    }

    /** The data plane takes up a batch for which all members have come; stand-ins of a joined rank leave no trace. */
    void start(List<PendingOp> ops) {
        List<Call> calls = begin(ops);
        calls.forEach(call -> recorder.started(call, batch));
    }

    /** The data plane takes up a step of the static plan, and meets the other members there. */
    void enter(List<PendingOp> ops) {
        List<Call> calls = begin(ops);
        if (recorder.isHeard()) {
            calls.forEach(call -> recorder.entered(call, batch));
        }
    }

    private List<Call> begin(List<PendingOp> ops) {
        List<Call> calls = new ArrayList<>(ops.size());
        for (PendingOp op : ops) {
            if (op.call() != null) {
                calls.add(op.call());
            }
        }
        batch = calls.isEmpty() ? null : calls.get(0);
        return calls;
    }

    @Override
    public long begin() {
        return recorder.isHeard() && batch != null ? System.nanoTime() : 0;
    }

    @Override
    public void end(String name, long begun) {
        if (begun != 0 && batch != null) {
            recorder.activity(batch, name, begun);
        }
    }
}
