package io.hvd.engine;

import io.hvd.spi.Activities;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Objects;

/**
 * Says whose batch the data plane is working on. A batch's activities are reported once, on behalf of
 * its first operation. Used on the communication thread only.
 */
final class DataLog implements Activities {
    private final FlightRecorder recorder;
    private Call batch;

    DataLog(FlightRecorder recorder) {
        this.recorder = recorder;
    }

    /** The data plane takes a batch up now; stand-ins of a rank that has joined leave no trace. */
    void start(List<PendingOp> ops) {
        batch = ops.stream()
                .map(PendingOp::call)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
        ops.stream().map(PendingOp::call).filter(Objects::nonNull).forEach(call -> recorder.started(call, batch));
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
