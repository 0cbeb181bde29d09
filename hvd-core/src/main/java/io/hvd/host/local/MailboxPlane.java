package io.hvd.host.local;

import io.hvd.spi.ControlChannel;
import io.hvd.spi.ControlPlane;

/** Control channels between threads, made of mailboxes. */
final class MailboxPlane implements ControlPlane {
    private final LocalHub hub;
    private final int rank;
    private int opened;

    MailboxPlane(LocalHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
    }

    @Override
    public ControlChannel open() {
        return new LocalChannel(hub.mailboxes(opened++), rank);
    }

    @Override
    public void abandon(String why) {
        hub.lose(rank, why);
    }

    @Override
    public void discard() {
        // There is nothing to release but memory.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
