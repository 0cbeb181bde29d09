package io.hvd.transport.tcp;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Transfers;
import java.nio.ByteBuffer;

/** One rank's half of a message: what is sent, or the place for what is received. */
final class Transfer implements Transfers.Transfer {
    private final Links links;
    private final long group;
    private final int tag;
    private final ByteBuffer bytes;
    private final Peer peer;
    private boolean done;
    /** Null unless the message that has come is of another length. */
    private String refused;

    Transfer(Links links, long group, int tag, ByteBuffer bytes, Peer peer) {
        this.links = links;
        this.group = group;
        this.tag = tag;
        this.bytes = bytes;
        this.peer = peer;
    }

    @Override
    public boolean isDone() {
        if (!done) {
            links.move();
            if (refused != null) {
                throw new HvdException(ErrorId.BACK_END, refused);
            }
            if (!done) {
                links.check();
                peer.check(this);
            }
        }
        return done;
    }

    Peer peer() {
        return peer;
    }

    long group() {
        return group;
    }

    int tag() {
        return tag;
    }

    ByteBuffer bytes() {
        return bytes;
    }

    boolean isFor(long itsGroup, int itsTag) {
        return tag == itsTag && group == itsGroup;
    }

    void done() {
        done = true;
    }

    void refuse(String why) {
        refused = why;
    }
}
