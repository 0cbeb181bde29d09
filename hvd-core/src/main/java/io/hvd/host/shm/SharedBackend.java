package io.hvd.host.shm;

import io.hvd.host.memory.MemoryCollectives;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import java.util.List;
import java.util.function.BooleanSupplier;

/** A back end whose ranks move data through shared memory inside their host. */
final class SharedBackend implements Backend {
    private final Backend beneath;
    private final SharedPlanes planes;
    private final DataPlane all;

    SharedBackend(Backend beneath, SharedPlanes planes) {
        this.beneath = beneath;
        this.planes = planes;
        this.all = planes.over(beneath.collectives(), planes.everybody());
    }

    @Override
    public String description() {
        return planes.note() + beneath.description();
    }

    @Override
    public Topology topology() {
        return beneath.topology();
    }

    @Override
    public ControlChannel control() {
        return beneath.control();
    }

    @Override
    public ControlChannel openChannel() {
        return beneath.openChannel();
    }

    @Override
    public DataPlane collectives() {
        return all;
    }

    @Override
    public DataPlane collectives(List<Integer> members) {
        return planes.over(beneath.collectives(members), members);
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        return beneath.exchange(mine);
    }

    @Override
    public Transfers transfers() {
        return beneath.transfers();
    }

    @Override
    public ReduceKernel kernel() {
        return beneath.kernel();
    }

    @Override
    public void programWaits(BooleanSupplier waits) {
        planes.programWaits(waits);
        beneath.programWaits(waits);
    }

    @Override
    public Progress progress() {
        return beneath.progress();
    }

    @Override
    public void abort(int exitCode, String reason) {
        beneath.abort(exitCode, reason);
    }

    @Override
    public void close() {
        if (all instanceof MemoryCollectives shared) {
            shared.leave();
        }
        beneath.close();
    }
}
