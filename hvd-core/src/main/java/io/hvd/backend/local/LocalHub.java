package io.hvd.backend.local;

import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What the ranks of one JVM share: their mailboxes, one meeting point and the stages of their data. */
final class LocalHub {
    private final List<Mailbox> mailboxes;
    private final Rendezvous rendezvous;
    private final List<ByteBuffer> stages;
    private final ByteBuffer result;
    private final List<Tensor> posted;
    private final List<byte[]> exchanged;

    LocalHub(int size, int stageBytes) {
        this.mailboxes =
                java.util.stream.Stream.generate(Mailbox::new).limit(size).toList();
        this.rendezvous = new Rendezvous(size);
        this.stages = java.util.stream.Stream.generate(() -> stage(stageBytes))
                .limit(size)
                .toList();
        this.result = stage(stageBytes);
        this.posted = new ArrayList<>(Collections.nCopies(size, null));
        this.exchanged = new ArrayList<>(Collections.nCopies(size, null));
    }

    int size() {
        return mailboxes.size();
    }

    Mailbox mailbox(int rank) {
        return mailboxes.get(rank);
    }

    /** Where the ranks wait for each other within a collective. */
    Rendezvous rendezvous() {
        return rendezvous;
    }

    /** Each rank's staging buffer; written by its own rank, read by all between two meetings. */
    List<ByteBuffer> stages() {
        return stages;
    }

    /** The reduced chunk; every rank writes its own slice. */
    ByteBuffer result() {
        return result;
    }

    /** Tensors that ranks show each other during one collective. */
    List<Tensor> posted() {
        return posted;
    }

    List<byte[]> exchanged() {
        return exchanged;
    }

    /** A rank has gone: nobody may wait for it any longer. */
    void lose(int rank, String why) {
        // In this order the cause is in every mailbox before those whom it frees can report theirs.
        mailboxes.forEach(mailbox -> mailbox.lost(rank, why));
        rendezvous.breakUp("rank " + rank + " is gone: " + why);
    }

    private static ByteBuffer stage(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }
}
