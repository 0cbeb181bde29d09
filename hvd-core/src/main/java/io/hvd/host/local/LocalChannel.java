package io.hvd.host.local;

import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.List;

/** One rank's access to the mailboxes of all ranks. */
record LocalChannel(List<Mailbox> mailboxes, int rank) implements ControlChannel {
    @Override
    public void send(int to, ByteBuffer message) {
        mailboxes.get(to).put(rank, message);
    }

    /** Always true, because a message arrives as soon as it is sent. */
    @Override
    public boolean isFlushed() {
        return true;
    }

    @Override
    public void receive(long nanos, Inbox inbox) {
        mailboxes.get(rank).receive(nanos, inbox);
    }

    @Override
    public void wakeUp() {
        mailboxes.get(rank).wakeUp();
    }
}
