package io.hvd.host.hybrid;

import io.hvd.host.memory.OuterLevel;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The data plane between all processes as the outer level of their threads: the thread that owns it makes the calls.
 * Calls that have been begun are processLevel out one after the other, while the rank does other work.
 */
final class ProcessLevel implements OuterLevel {
    private final DataPlane processes;
    private final BackendThread backendThread;
    private Activities activities = Activities.UNHEARD;

    ProcessLevel(DataPlane processes, BackendThread backendThread) {
        this.processes = processes;
        this.backendThread = backendThread;
    }

    /** Reports on this rank's own thread how long the processes take, since the other thread works beside it. */
    @Override
    public void report(Activities to) {
        activities = to;
    }

    @Override
    public boolean allreduceUnlessVetoed(Tensor tensor, Reduction how) {
        List<Tensor> only = List.of(tensor);
        long begun = activities.begin();
        boolean agreed = backendThread.call(() -> processes.allreduceUnlessVetoed(only, only, how));
        activities.end(Activities.WAIT_FOR_DATA, begun);
        return agreed;
    }

    @Override
    public void veto(long elements, Reduction how) {
        backendThread.call(() -> {
            processes.vetoAllreduce(Device.CPU, elements, how);
            return null;
        });
    }

    @Override
    public Completion beginAllreduce(Tensor tensor, Reduction how) {
        List<Tensor> only = List.of(tensor);
        return backendThread.begin(() -> processes.allreduce(only, only, how));
    }

    @Override
    public Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
        return backendThread.begin(() -> processes.allgather(input, output, elements));
    }

    @Override
    public Completion beginBroadcast(Tensor tensor, int root) {
        List<Tensor> only = List.of(tensor);
        return backendThread.begin(() -> processes.broadcast(only, only, root));
    }

    @Override
    public Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        return backendThread.begin(() -> processes.alltoall(input, output, sent, received, longest));
    }

    @Override
    public void abandon() {
        // The back end's thread may be inside a call; the end of the job ends that.
    }

    @Override
    public void close() {
        // These are the collectives of all processes, which end with their back end.
    }
}
