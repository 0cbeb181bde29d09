package io.hvd.host.hybrid;

import io.hvd.host.local.LocalHub;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.ControlPlane;

/** Control channels between threads of several processes, each made of a router in every process. */
final class RouterPlane implements ControlPlane {
    private final InterProcess interProcess;
    private final LocalHub hub;
    private final int thread;
    private final OncePerProcess oncePerProcess;
    private int opened;

    RouterPlane(InterProcess interProcess, LocalHub hub, int thread, OncePerProcess oncePerProcess) {
        this.interProcess = interProcess;
        this.hub = hub;
        this.thread = thread;
        this.oncePerProcess = oncePerProcess;
    }

    @Override
    public ControlChannel open() {
        int number = opened++;
        Router router = oncePerProcess.run(thread == 0, () -> interProcess.openRouter(hub.mailboxes(number)));
        return router.end(thread);
    }

    @Override
    public void abandon(String why) {
        hub.lose(thread, why);
    }

    /** Does nothing: a failure of ranks that are threads of several processes ends their processes. */
    @Override
    public void discard() {
        // Other threads of this process may be using the routers.
    }

    /** One thread of each process ends what leads to the other processes, after all threads have come. */
    @Override
    public void close() {
        oncePerProcess.run(thread == 0, () -> {
            interProcess.close();
            return null;
        });
    }
}
