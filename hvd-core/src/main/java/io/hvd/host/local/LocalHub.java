package io.hvd.host.local;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ShutdownException;
import io.hvd.host.memory.Layout;
import io.hvd.host.memory.MemoryGroup;
import io.hvd.host.memory.Segment;
import io.hvd.host.memory.Sleepers;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The state that the ranks of one JVM, or some of them, share: their mailboxes, one meeting point and the memory through
 * which their data goes.
 */
public final class LocalHub {
    /** The largest stage, small enough that the stages of a few ranks stay in cache together. */
    private static final int MOST_STAGE_BYTES = 256 << 10;

    private static final int LINE = 64;
    /**
     * With more ranks on each core they sleep until they are woken: those who look again and again keep the core from those
     * who work.
     */
    private static final int MANY_RANKS_ON_A_CORE = 16;

    /** The ranks, each with a mailbox in every channel. */
    private final int size;

    private final Rendezvous rendezvous;
    private final List<byte[]> exchanged;
    private final List<Crossing> crossings;
    private final Layout layout;
    /** Null where ranks look again and again for what they wait for. */
    private final Sleepers sleepers;

    /** How often each rank has taken its view of a memory, and the memories that some ranks have not taken yet. */
    private final int[] taken;

    private final Map<Integer, Memory> memories = new HashMap<>();
    private final Map<List<Integer>, LocalHub> sets = new HashMap<>();
    private final Map<Integer, List<Mailbox>> channels = new HashMap<>();
    private final Map<Integer, String> losses = new LinkedHashMap<>();
    private volatile String lost;

    /** @param stageBytes the most bytes of a rank's data that are under way at a time; large numbers are cut down */
    public LocalHub(int size, int stageBytes) {
        this(
                size,
                stageBytes,
                size > MANY_RANKS_ON_A_CORE * Runtime.getRuntime().availableProcessors());
    }

    /** @param sleep whether ranks that wait for each other sleep until they are woken */
    public LocalHub(int size, int stageBytes, boolean sleep) {
        this.size = size;
        this.rendezvous = new Rendezvous(size);
        this.exchanged = new ArrayList<>(Collections.nCopies(size, null));
        this.crossings =
                Stream.generate(Crossing::new).limit((long) size * size).toList();
        this.layout = new Layout(size, stageBytes(size, stageBytes));
        this.taken = new int[size];
        this.sleepers = sleep ? new Sleepers(size) : null;
        // Where there is not enough memory, the program learns of it before any rank waits for another.
        memories.put(0, newMemory());
    }

    /** At least an element for each rank, in whole lines. */
    private static int stageBytes(int size, int wanted) {
        int enough = Math.max(size * Long.BYTES, Math.min(MOST_STAGE_BYTES, wanted));
        return (enough + LINE - 1) / LINE * LINE;
    }

    public int size() {
        return size;
    }

    /** The length of each rank's stage, and of the result, in bytes. */
    public int stageBytes() {
        return layout.stageBytes();
    }

    /** The mailboxes of a control channel, the same for all ranks; the first of these channels has number 0. */
    public synchronized List<Mailbox> mailboxes(int number) {
        return channels.computeIfAbsent(number, any -> {
            List<Mailbox> mailboxes = Stream.generate(Mailbox::new).limit(size).toList();
            losses.forEach((rank, why) -> mailboxes.forEach(mailbox -> mailbox.lost(rank, why)));
            return mailboxes;
        });
    }

    /** The barrier at which all ranks wait for each other. */
    public Rendezvous rendezvous() {
        return rendezvous;
    }

    /** The words of the ranks to each other at the start, by rank. */
    public List<byte[]> exchanged() {
        return exchanged;
    }

    /** The direct way of a tensor from one rank to another. */
    Crossing crossing(int from, int to) {
        return crossings.get(from * size() + to);
    }

    /**
     * A rank's view of new memory that all ranks share. Every rank calls this as often as the others, and the ranks' n-th
     * calls return views of the same memory.
     */
    public synchronized Segment memory(int place) {
        int number = taken[place]++;
        Memory memory = memories.computeIfAbsent(number, any -> newMemory());
        if (++memory.takers == size()) {
            memories.remove(number);
        }
        return new Segment(layout, place, memory.bytes.duplicate(), memory.sleepers);
    }

    private Memory newMemory() {
        return new Memory(allocate(), sleepers == null ? null : sleepers.ofAnotherMemory());
    }

    private ByteBuffer allocate() {
        return BufferLedger.PROCESS
                .direct(Owner.THREADS, layout.bytes() + LINE)
                .alignedSlice(LINE)
                .slice(0, layout.bytes());
    }

    /** The hub of some of the ranks, the same object for all of them. */
    public synchronized LocalHub set(List<Integer> members) {
        LocalHub hub = sets.computeIfAbsent(members, some -> new LocalHub(some.size(), stageBytes()));
        if (lost != null) {
            hub.breakUp(lost);
        }
        return hub;
    }

    /** The ranks as a group with a memory. */
    public MemoryGroup group() {
        return new Threads();
    }

    /** A rank has gone: no rank may wait for it any longer. Only the first call for a rank counts. */
    public void lose(int rank, String why) {
        // In this order the cause is in every mailbox before the released threads can report theirs.
        if (tell(rank, why)) {
            breakUp("rank " + rank + " is gone: " + why);
        }
    }

    private synchronized boolean tell(int rank, String why) {
        boolean isNews = losses.putIfAbsent(rank, why) == null;
        if (isNews) {
            channels.values().forEach(channel -> channel.forEach(mailbox -> mailbox.lost(rank, why)));
        }
        return isNews;
    }

    private synchronized void breakUp(String why) {
        // The first loss is the cause of the others.
        if (lost == null) {
            lost = why;
        }
        rendezvous.breakUp(why);
        crossings.forEach(crossing -> crossing.meeting.breakUp(why));
        sets.values().forEach(hub -> hub.breakUp(why));
        if (sleepers != null) {
            sleepers.wakeAll();
        }
    }

    /** The ranks of this hub. When one has gone, no operation of all of them can end. */
    private final class Threads implements MemoryGroup {
        @Override
        public boolean hasEnded(int place) {
            return lost != null;
        }

        @Override
        public ShutdownException without(int place) {
            return new ShutdownException(lost);
        }

        @Override
        public void close() {
            // A rank that leaves is not missed: it leaves after its last operation.
        }
    }

    private static final class Memory {
        final ByteBuffer bytes;
        final Sleepers sleepers;
        int takers;

        Memory(ByteBuffer bytes, Sleepers sleepers) {
            this.bytes = bytes;
            this.sleepers = sleepers;
        }
    }

    /** One direction between two ranks. */
    static final class Crossing {
        final Rendezvous meeting = new Rendezvous(2);
        Tensor tensor;
    }
}
