package io.hvd.host.hybrid;

import io.hvd.host.local.LocalHub;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import java.util.List;

/** A thread of one of several processes: a process is who its own bootstrap says, and its threads are counted on. */
final class HybridBootstrap implements Bootstrap {
    private final InterProcess interProcess;
    private final LocalHub hub;
    private final int thread;
    private final OncePerProcess oncePerProcess;
    private final Topology topology;

    HybridBootstrap(InterProcess interProcess, LocalHub hub, int thread, OncePerProcess oncePerProcess) {
        this.interProcess = interProcess;
        this.hub = hub;
        this.thread = thread;
        this.oncePerProcess = oncePerProcess;
        this.topology = interProcess.grid().topology(thread, interProcess.processes());
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public int generation() {
        return interProcess.generation();
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        hub.exchanged().set(thread, mine);
        return oncePerProcess.run(thread == 0, () -> interProcess.exchange(hub.exchanged()));
    }
}
