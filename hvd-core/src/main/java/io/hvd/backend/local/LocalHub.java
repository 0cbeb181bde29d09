package io.hvd.backend.local;

import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The state that the ranks of one JVM, or some of them, share: their mailboxes, one meeting point and the stages of
 * their data.
 */
public final class LocalHub {
    private final List<Mailbox> mailboxes;
    private final Rendezvous rendezvous;
    private final List<ByteBuffer> stages;
    private final ByteBuffer result;
    private final List<Tensor> posted;
    private final List<List<Tensor>> batches;
    private final List<byte[]> exchanged;
    private final List<long[]> counts;
    private final List<Crossing> crossings;
    private final int stageBytes;
    private final Map<List<Integer>, LocalHub> sets = new HashMap<>();
    private final Map<Integer, List<Mailbox>> further = new HashMap<>();
    private String lost;

    public LocalHub(int size, int stageBytes) {
        this.mailboxes = Stream.generate(Mailbox::new).limit(size).toList();
        this.rendezvous = new Rendezvous(size);
        this.stages = Stream.generate(() -> stage(stageBytes)).limit(size).toList();
        this.result = stage(stageBytes);
        this.posted = new ArrayList<>(Collections.nCopies(size, null));
        this.batches = new ArrayList<>(Collections.nCopies(size, List.of()));
        this.exchanged = new ArrayList<>(Collections.nCopies(size, null));
        this.counts = new ArrayList<>(Collections.nCopies(size, null));
        this.crossings =
                Stream.generate(Crossing::new).limit((long) size * size).toList();
        this.stageBytes = stageBytes;
    }

    public int size() {
        return mailboxes.size();
    }

    /** The length of each rank's stage, and of the result, in bytes. */
    public int stageBytes() {
        return stageBytes;
    }

    /** The engine's mailboxes, by rank. */
    public List<Mailbox> mailboxes() {
        return mailboxes;
    }

    /** The mailboxes of another control channel, the same for all ranks; the first of these channels has number 0. */
    public synchronized List<Mailbox> furtherMailboxes(int number) {
        return further.computeIfAbsent(
                number, any -> Stream.generate(Mailbox::new).limit(size()).toList());
    }

    /** The barrier at which the ranks wait for each other within a collective. */
    public Rendezvous rendezvous() {
        return rendezvous;
    }

    /** The stages by rank. Each rank writes its own; all ranks read them between two meetings. */
    public List<ByteBuffer> stages() {
        return stages;
    }

    /** The reduced chunk; every rank writes its own slice. */
    public ByteBuffer result() {
        return result;
    }

    /** Tensors that ranks show each other during one collective. */
    public List<Tensor> posted() {
        return posted;
    }

    /** The tensors of all ranks, where several travel at once. */
    public List<List<Tensor>> batches() {
        return batches;
    }

    public List<byte[]> exchanged() {
        return exchanged;
    }

    /** Numbers that ranks show each other during one collective. */
    public List<long[]> counts() {
        return counts;
    }

    /** The direct way of a tensor from one rank to another. */
    Crossing crossing(int from, int to) {
        return crossings.get(from * size() + to);
    }

    /** The hub of some of the ranks, the same object for all of them. */
    public synchronized LocalHub set(List<Integer> members) {
        LocalHub hub = sets.computeIfAbsent(members, some -> new LocalHub(some.size(), stageBytes));
        if (lost != null) {
            hub.breakUp(lost);
        }
        return hub;
    }

    /** A rank has gone: no rank may wait for it any longer. */
    public void lose(int rank, String why) {
        // In this order the cause is in every mailbox before the released threads can report theirs.
        mailboxes.forEach(mailbox -> mailbox.lost(rank, why));
        loseFurther(rank, why);
        breakUp("rank " + rank + " is gone: " + why);
    }

    private synchronized void loseFurther(int rank, String why) {
        further.values().forEach(channel -> channel.forEach(mailbox -> mailbox.lost(rank, why)));
    }

    private synchronized void breakUp(String why) {
        lost = why;
        rendezvous.breakUp(why);
        crossings.forEach(crossing -> crossing.meeting.breakUp(why));
        sets.values().forEach(hub -> hub.breakUp(why));
    }

    /** One direction between two ranks. */
    static final class Crossing {
        final Rendezvous meeting = new Rendezvous(2);
        Tensor tensor;
    }

    private static ByteBuffer stage(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }
}
