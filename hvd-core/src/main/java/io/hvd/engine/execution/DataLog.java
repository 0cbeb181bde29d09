package io.hvd.engine.execution;

import io.hvd.engine.submission.PendingOp;
import io.hvd.spi.Activities;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import io.hvd.trace.TraceListener.OnDevice;
import java.util.List;

/**
 * Records the data plane's activities for the batch that it works on. They are reported once for each batch, on behalf
 * of its first operation. Only the thread that has the data plane's lock uses it.
 */
public final class DataLog implements Activities {
    private final FlightRecorder recorder;
    private Call batch;

    public DataLog(FlightRecorder recorder) {
        this.recorder = recorder;
    }

    /** The data plane begins a batch for which all members have come; a joined rank's stand-ins are not recorded. */
    void start(List<PendingOp> ops) {
        begin(ops);
        for (int i = 0; i < ops.size(); i++) {
            if (ops.get(i).call() != null) {
                recorder.started(ops.get(i).call(), batch);
            }
        }
    }

    /**
     * The data plane begins a batch of the static plan, in which no rank has joined, and meets the other members there.
     */
    public void enter(List<PendingOp> ops) {
        begin(ops);
        for (int i = 0; recorder.isWatched() && i < ops.size(); i++) {
            recorder.entered(ops.get(i).call(), batch);
        }
    }

    private void begin(List<PendingOp> ops) {
        batch = null;
        for (int i = 0; batch == null && i < ops.size(); i++) {
            batch = ops.get(i).call();
        }
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

    @Override
    public Later later() {
        Call worked = batch;
        return recorder.isHeard() && worked != null
                ? (device, name, from, to) -> recorder.onDevice(worked, new OnDevice(device, name, from, to))
                : null;
    }
}
