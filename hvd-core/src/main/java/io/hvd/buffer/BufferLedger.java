package io.hvd.buffer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The record of the memory outside Java's heap that hvd has in this process: who has how much, how much it was at most, and, if
 * asked, where each buffer was made. All of hvd's direct buffers and mapped files are made here, and all of its GPU and
 * pinned memory is counted here, so that a limit holds for all of it.
 *
 * <p>A buffer of Java's counts until the garbage collector has taken it; its slices keep it. GPU and pinned memory counts
 * until its {@link Lease} is given back. Any thread may use the record; an allocation takes its lock, and nothing else does.
 */
public final class BufferLedger {
    /** The record of this process. */
    public static final BufferLedger PROCESS = new BufferLedger(System::gc);

    /** The garbage collections after which the limit counts as reached: memory is free some time after a collection. */
    private static final int MOST_COLLECTIONS = 5;

    private static final long CLEANING_NANOS = 10_000_000;
    private static final int FRAMES = 4;

    /** The kind of memory. */
    public enum Kind {
        /** A direct buffer, memory of this process alone. */
        DIRECT,
        /** A file in memory. */
        MAPPED,
        /** Host memory that a GPU reads and writes by itself. */
        PINNED,
        /** Memory of a GPU. */
        GPU
    }

    /** The purpose of memory. */
    public enum Owner {
        MPI("stages of MPI", true),
        SHARED_MEMORY("shared memory of a host", true),
        THREADS("shared memory of threads", true),
        MOVEMENT("collectives in shared memory", true),
        TRANSFERS("collectives of threads and processes", true),
        CONVERSION("conversions", true),
        GPU_BATCHES("batches of GPU tensors", true),
        GPU_RESULTS("results on GPUs", false),
        TENSORS("tensors", false),
        CHECKS("checks of gradients and parameters", false),
        CHECKPOINTS("checkpoints", false),
        DATA("data sets and loaders", false),
        PROGRAM("GPU memory of the program", false);

        private final String words;
        private final boolean goesWithTheJob;

        Owner(String words, boolean goesWithTheJob) {
            this.words = words;
            this.goesWithTheJob = goesWithTheJob;
        }

        /** The name in tables and messages. */
        public String words() {
            return words;
        }
    }

    /**
     * The buffers of one owner.
     *
     * @param buffers their number now
     * @param bytes of them now
     * @param peakBytes the most that they were at a time
     */
    public record Use(Owner owner, Kind kind, int buffers, long bytes, long peakBytes) {
        private String words() {
            return owner.words + " (" + kind.name().toLowerCase(Locale.ROOT) + ") " + bytes;
        }
    }

    /** Memory that its owner frees by itself. */
    public final class Lease {
        private final Entry entry;

        private Lease(Entry entry) {
            this.entry = entry;
        }

        /** Allocates the memory; if that throws, nothing counts any more. */
        public <T> T unlessFailing(Supplier<T> allocation) {
            try {
                return allocation.get();
            } catch (RuntimeException | Error e) {
                giveBack();
                throw e;
            }
        }

        /** Tells the record that the memory is free again; a further call does nothing. */
        public void giveBack() {
            BufferLedger.this.giveBack(entry);
        }
    }

    private record Key(Owner owner, Kind kind) implements Comparable<Key> {
        @Override
        public int compareTo(Key other) {
            int byOwner = owner.compareTo(other.owner);
            return byOwner != 0 ? byOwner : kind.compareTo(other.kind);
        }

        /** Pages of a data set's file belong to the system, which takes them when it needs them. */
        boolean isLimited() {
            return kind != Kind.GPU && !(owner == Owner.DATA && kind == Kind.MAPPED);
        }
    }

    private static final class Sum {
        int buffers;
        long bytes;
        long peak;
    }

    /** A buffer, or memory that is leased. */
    private static final class Entry extends PhantomReference<Object> {
        final long bytes;
        final String place;
        final Key key;

        Entry(Object memory, ReferenceQueue<Object> collected, Key key, long bytes, String place) {
            super(memory, collected);
            this.key = key;
            this.bytes = bytes;
            this.place = place;
        }
    }

    private final Runnable collector;
    private final ReferenceQueue<Object> collected = new ReferenceQueue<>();
    private final Set<Entry> entries = new HashSet<>();
    private final TreeMap<Key, Sum> sums = new TreeMap<>();
    private final List<String> members = new ArrayList<>();
    private long limited;
    private long limit;
    private boolean places;

    /** @param collector asks for a garbage collection */
    BufferLedger(Runnable collector) {
        this.collector = collector;
    }

    /**
     * Sets what holds from now on.
     *
     * @param limit the most bytes of host memory; 0 for any number
     * @param places whether the place of each allocation is kept
     */
    public synchronized void configure(long limit, boolean places) {
        this.limit = limit;
        this.places = places;
    }

    /** A rank of this process has joined a job. @param name for messages, such as {@code rank 2 of 4} */
    public synchronized void joined(String name) {
        members.add(name);
    }

    /**
     * A rank of this process has left its job.
     *
     * @return if it was the last one and places are kept: each buffer that does not go with the job and that somebody still
     *     has, with its place. Empty otherwise
     */
    public List<String> left(String name) {
        synchronized (this) {
            if (!members.remove(name) || !members.isEmpty() || !places) {
                return List.of();
            }
        }
        collector.run();
        LockSupport.parkNanos(CLEANING_NANOS);
        return notGivenBack();
    }

    /** Makes a direct buffer of zeros in this machine's byte order. */
    public ByteBuffer direct(Owner owner, int bytes) {
        Key key = new Key(owner, Kind.DIRECT);
        reserve(key, bytes);
        try {
            ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
            note(buffer, key, bytes);
            return buffer.order(ByteOrder.nativeOrder());
        } catch (OutOfMemoryError full) {
            undo(key, bytes);
            OutOfMemoryError told =
                    new OutOfMemoryError(full.getMessage() + ". " + asked(key, bytes) + "; " + holders());
            told.initCause(full);
            throw told;
        }
    }

    /** Maps a part of a file. */
    public MappedByteBuffer map(Owner owner, FileChannel file, MapMode mode, long from, long bytes) throws IOException {
        Key key = new Key(owner, Kind.MAPPED);
        reserve(key, bytes);
        try {
            MappedByteBuffer buffer = file.map(mode, from, bytes);
            note(buffer, key, bytes);
            return buffer;
        } catch (IOException | RuntimeException | Error e) {
            undo(key, bytes);
            throw e;
        }
    }

    /** Counts memory that the caller is about to allocate. */
    public Lease lease(Owner owner, Kind kind, long bytes) {
        Key key = new Key(owner, kind);
        reserve(key, bytes);
        return new Lease(note(null, key, bytes));
    }

    /** Each owner's buffers now and at most, in the order of the owners. */
    public synchronized List<Use> uses() {
        forgetCollected();
        return sums.entrySet().stream()
                .map(one -> new Use(
                        one.getKey().owner,
                        one.getKey().kind,
                        one.getValue().buffers,
                        one.getValue().bytes,
                        one.getValue().peak))
                .toList();
    }

    private void reserve(Key key, long bytes) {
        for (int collections = 0; !tryReserve(key, bytes, collections == MOST_COLLECTIONS); collections++) {
            collector.run();
            LockSupport.parkNanos(CLEANING_NANOS);
        }
    }

    private synchronized boolean tryReserve(Key key, long bytes, boolean last) {
        forgetCollected();
        if (limit > 0 && key.isLimited() && limited + bytes > limit) {
            if (last) {
                throw new HvdException(
                        ErrorId.BUFFER_LIMIT,
                        asked(key, bytes) + "; with the " + limited
                                + " bytes in use that is more than HVD_MAX_BUFFER_BYTES="
                                + limit + " allows. " + holders()
                                + ". Raise the limit, or have less: HVD_BUFFER_SITES=1 lists at the end where buffers were made");
            }
            return false;
        }
        Sum sum = sums.computeIfAbsent(key, added -> new Sum());
        sum.buffers++;
        sum.bytes += bytes;
        sum.peak = Math.max(sum.peak, sum.bytes);
        limited += key.isLimited() ? bytes : 0;
        return true;
    }

    private synchronized Entry note(Object memory, Key key, long bytes) {
        Entry entry = new Entry(memory, collected, key, bytes, places ? place() : "");
        entries.add(entry);
        return entry;
    }

    private static String place() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame ->
                                !frame.getClassName().replaceFirst("[$].*", "").equals(BufferLedger.class.getName()))
                        .limit(FRAMES)
                        .map(Object::toString)
                        .collect(Collectors.joining(" < ")));
    }

    private void forgetCollected() {
        for (Object gone = collected.poll(); gone != null; gone = collected.poll()) {
            giveBack((Entry) gone);
        }
    }

    private synchronized void giveBack(Entry entry) {
        if (entries.remove(entry)) {
            undo(entry.key, entry.bytes);
        }
    }

    private synchronized void undo(Key key, long bytes) {
        Sum sum = sums.get(key);
        sum.buffers--;
        sum.bytes -= bytes;
        limited -= key.isLimited() ? bytes : 0;
    }

    private synchronized List<String> notGivenBack() {
        forgetCollected();
        return entries.stream()
                .filter(entry -> !entry.key.owner.goesWithTheJob)
                .sorted((one, other) -> Long.compare(other.bytes, one.bytes))
                .map(entry -> new Use(entry.key.owner, entry.key.kind, 1, entry.bytes, entry.bytes).words()
                        + " bytes, made at " + (entry.place.isEmpty() ? "an unknown place" : entry.place))
                .toList();
    }

    private synchronized String asked(Key key, long bytes) {
        String who = members.isEmpty()
                ? "process " + ProcessHandle.current().pid()
                : members.size() == 1 ? members.get(0) : "the process of " + String.join(", ", members);
        return who + " has asked for " + bytes + " bytes for " + key.owner.words;
    }

    private synchronized String holders() {
        String all = uses().stream()
                .filter(use -> use.bytes > 0)
                .sorted((one, other) -> Long.compare(other.bytes, one.bytes))
                .map(Use::words)
                .collect(Collectors.joining(", "));
        return "hvd has here: " + (all.isEmpty() ? "nothing" : all);
    }
}
