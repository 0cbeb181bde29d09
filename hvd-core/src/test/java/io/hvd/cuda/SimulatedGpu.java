package io.hvd.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A GPU that is none: its memory lies in buffers, every stream is a thread that dawdles, and a kernel is
 * {@link Converter}. It shows whether work is queued on the right addresses and in an order that events
 * make safe. It proves nothing about a device.
 */
public final class SimulatedGpu implements CudaCalls, AutoCloseable {
    private static final long MOST_DAWDLING_NANOS = 300_000;
    /** A stream dawdles before one of so many pieces of work; the others follow at once. */
    private static final int DAWDLES_ONE_IN = 4;
    /** As CUDA has it: a thread works with one GPU at a time. */
    private static final ThreadLocal<SimulatedGpu> CURRENT = new ThreadLocal<>();

    private final TreeMap<Long, ByteBuffer> memory = new TreeMap<>();
    private final Map<Long, ExecutorService> streams = new ConcurrentHashMap<>();
    /** Each with the time at which it is reached. */
    private final Map<Long, CompletableFuture<Long>> events = new ConcurrentHashMap<>();

    private final Set<Long> living = ConcurrentHashMap.newKeySet();
    private final Set<Long> timed = ConcurrentHashMap.newKeySet();
    private final Map<Long, String> functions = new ConcurrentHashMap<>();
    private final AtomicLong handles = new AtomicLong(1);
    private long nextAddress = 1L << 40;
    private volatile Throwable failure;
    private final AtomicInteger pinned = new AtomicInteger();
    private final AtomicInteger mostPinned = new AtomicInteger();
    private volatile int mostBlocks = Integer.MAX_VALUE;
    /** GPUs whose work every call that allocates or frees memory waits for; none in a process with one GPU. */
    private volatile Collection<SimulatedGpu> sameProcess = List.of();

    public SimulatedGpu() {
        streams.put(0L, thread());
    }

    private static ExecutorService thread() {
        return Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "simulated-stream");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** hvd's view of it. */
    public CudaDevice device() {
        enter();
        return CudaDevice.open(this);
    }

    /** Queues any work, as a library such as NCCL does. */
    public void enqueue(long stream, Runnable work) {
        if (!tryToEnqueue(stream, work)) {
            throw new IllegalStateException("there is no stream " + stream);
        }
    }

    /** False if there is no such stream. */
    private boolean tryToEnqueue(long stream, Runnable work) {
        ExecutorService thread = streams.get(stream);
        if (thread == null) {
            return false;
        }
        try {
            thread.execute(() -> run(work));
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    private void run(Runnable work) {
        try {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            if (random.nextInt(DAWDLES_ONE_IN) == 0) {
                LockSupport.parkNanos(random.nextLong(MOST_DAWDLING_NANOS));
            }
            work.run();
        } catch (Throwable e) {
            failure = e;
        }
    }

    /** The bytes from an address on, to the end of what was allocated there. */
    public synchronized ByteBuffer at(long address) {
        Map.Entry<Long, ByteBuffer> block = memory.floorEntry(address);
        int offset = Math.toIntExact(address - block.getKey());
        ByteBuffer buffer = block.getValue();
        return buffer.slice(offset, buffer.capacity() - offset).order(ByteOrder.nativeOrder());
    }

    /** A tensor on this GPU with the elements of one on the host, there at once. @param stream it is of */
    public Tensor copyOf(Tensor host, io.hvd.tensor.Device device, long stream) {
        if (host.elements() == 0) {
            return Tensor.onDevice(0, device, stream, host.dtype(), host.shape());
        }
        long address = block(host.bytes());
        new Converter().pack(host, 0, (int) host.elements(), at(address), 0, host.dtype(), 1);
        return Tensor.onDevice(address, device, stream, host.dtype(), host.shape());
    }

    /** What lies at an address now, whatever the streams are doing. */
    public Tensor read(long address, DType type, Shape shape) {
        Tensor host = Tensor.zeros(type, shape);
        if (host.elements() > 0) {
            new Converter().unpack(at(address), 0, type, host, 0, (int) host.elements(), Scale.ONE);
        }
        return host;
    }

    /** What a stream's work has thrown; null if nothing has. */
    public Throwable failure() {
        return failure;
    }

    /** Blocks of memory that nobody has freed. */
    public synchronized int blocks() {
        return memory.size();
    }

    /** Pinned buffers that nobody has freed. */
    public int pinnedBuffers() {
        return pinned.get();
    }

    /** The most pinned buffers that there have been at a time. */
    public int mostPinnedBuffers() {
        return mostPinned.get();
    }

    @Override
    public int driverVersion() {
        return 13000;
    }

    @Override
    public int computeCapability() {
        return 90;
    }

    @Override
    public int multiprocessors() {
        return 2;
    }

    @Override
    public void enter() {
        CURRENT.set(this);
    }

    private void requireCurrent() {
        if (CURRENT.get() != this) {
            throw new IllegalStateException("another GPU is this thread's current one");
        }
    }

    /** As CUDA may do where GPUs of a process reach each other's memory: allocating waits for all work on all of them. */
    public void allocateWith(Collection<SimulatedGpu> gpus) {
        sameProcess = gpus;
    }

    private void awaitProcess() {
        sameProcess.forEach(SimulatedGpu::awaitAll);
    }

    /** From now on it is full when it has so many blocks. */
    public void limit(int blocks) {
        mostBlocks = blocks;
    }

    @Override
    public long allocate(long bytes) {
        requireCurrent();
        awaitProcess();
        if (blocks() >= mostBlocks) {
            throw new HvdException(ErrorId.BACK_END, "cuMemAlloc of " + bytes + " bytes failed: out of memory");
        }
        return block(bytes);
    }

    private synchronized long block(long bytes) {
        long address = nextAddress;
        nextAddress += (bytes + 511) / 256 * 256;
        ByteBuffer block = ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
        for (int i = 0; i < block.capacity(); i++) {
            block.put(i, (byte) 0x5a);
        }
        memory.put(address, block);
        return address;
    }

    /** Waits for all work of the GPU first, as CUDA does. */
    @Override
    public void free(long address) {
        requireCurrent();
        awaitAll();
        awaitProcess();
        release(address);
    }

    private synchronized void release(long address) {
        if (memory.remove(address) == null) {
            throw new IllegalStateException("nothing was allocated at " + address);
        }
    }

    @Override
    public ByteBuffer allocatePinned(int bytes) {
        requireCurrent();
        awaitProcess();
        mostPinned.accumulateAndGet(pinned.incrementAndGet(), Math::max);
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    @Override
    public void freePinned(ByteBuffer buffer) {
        awaitProcess();
        pinned.decrementAndGet();
        // The garbage collector's business here.
    }

    @Override
    public void copyToDevice(long to, ByteBuffer from, int at, int bytes, long stream) {
        requireCurrent();
        enqueue(stream, () -> at(to).put(0, from, at, bytes));
    }

    @Override
    public void copyToHost(ByteBuffer to, int at, long from, int bytes, long stream) {
        requireCurrent();
        enqueue(stream, () -> to.put(at, at(from), 0, bytes));
    }

    @Override
    public void clear(long address, long bytes, long stream) {
        requireCurrent();
        enqueue(stream, () -> {
            ByteBuffer block = at(address);
            for (int i = 0; i < bytes; i++) {
                block.put(i, (byte) 0);
            }
        });
    }

    @Override
    public void fill(long address, long value, int width, long elements, long stream) {
        requireCurrent();
        enqueue(stream, () -> {
            ByteBuffer block = at(address);
            for (int i = 0; i < elements * width; i++) {
                block.put(i, (byte) (value >>> 8 * (i % width)));
            }
        });
    }

    @Override
    public long createStream() {
        requireCurrent();
        long handle = handles.getAndIncrement();
        streams.put(handle, thread());
        return handle;
    }

    @Override
    public void destroyStream(long stream) {
        streams.remove(stream).shutdown();
    }

    @Override
    public void awaitStream(long stream) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        if (!tryToEnqueue(stream, () -> end.complete(null))) {
            return; // another thread's stream, which has been destroyed
        }
        end.join();
    }

    /** Blocks until all that is queued on any stream is done. */
    public void awaitAll() {
        List.copyOf(streams.keySet()).forEach(this::awaitStream);
    }

    @Override
    public long createEvent() {
        requireCurrent();
        long event = handles.getAndIncrement();
        living.add(event);
        return event;
    }

    @Override
    public long createTimedEvent() {
        long event = createEvent();
        timed.add(event);
        return event;
    }

    @Override
    public void destroyEvent(long event) {
        if (!living.remove(event)) {
            throw new IllegalStateException("there is no event " + event);
        }
        events.remove(event);
        timed.remove(event);
    }

    /** Events that nobody has destroyed. */
    public int livingEvents() {
        return living.size();
    }

    @Override
    public void recordEvent(long event, long stream) {
        requireCurrent();
        CompletableFuture<Long> reached = new CompletableFuture<>();
        events.put(event, reached);
        enqueue(stream, () -> reached.complete(System.nanoTime()));
    }

    /** Is reached when every stream has done what it has now, as cuCtxRecordEvent has it. */
    public void recordAfterAllWork(long context, long event) {
        requireCurrent();
        if (context != context()) {
            throw new IllegalStateException(context + " is not the context of this GPU");
        }
        CompletableFuture<Long> reached = new CompletableFuture<>();
        events.put(event, reached);
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (long stream : streams.keySet()) {
            CompletableFuture<Void> end = new CompletableFuture<>();
            ends.add(end);
            enqueue(stream, () -> end.complete(null));
        }
        CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0]))
                .thenRun(() -> reached.complete(System.nanoTime()));
    }

    @Override
    public float millisBetween(long earlier, long later) {
        for (long event : new long[] {earlier, later}) {
            if (!timed.contains(event) || !events.get(event).isDone()) {
                throw new IllegalStateException("event " + event + " notes no time, or is not reached");
            }
        }
        return (events.get(later).join() - events.get(earlier).join()) / 1e6f;
    }

    @Override
    public long context() {
        return System.identityHashCode(this);
    }

    @Override
    public void holdUntil(long stream, long event) {
        requireCurrent();
        CompletableFuture<Long> reached = events.get(event);
        enqueue(stream, reached::join);
    }

    @Override
    public void awaitEvent(long event) {
        events.get(event).join();
    }

    @Override
    public boolean isReached(long event) {
        return events.get(event).isDone();
    }

    @Override
    public long loadModule(String ptx) {
        return handles.getAndIncrement();
    }

    @Override
    public void unloadModule(long module) {
        // Nothing was loaded.
    }

    @Override
    public long function(long module, String entry) {
        long handle = handles.getAndIncrement();
        functions.put(handle, entry);
        return handle;
    }

    @Override
    public void launch(long function, Grid grid, Arguments arguments, long stream) {
        requireCurrent();
        String entry = functions.get(function);
        enqueue(stream, () -> run(entry, arguments));
    }

    private void run(String entry, Arguments arguments) {
        ByteBuffer table = at(arguments.table());
        for (int row = 0; row < arguments.rows(); row++) {
            int place = row * SegmentTable.ROW_BYTES;
            long from = table.getLong(place);
            long to = table.getLong(place + 8);
            int count = Math.toIntExact(table.getLong(place + 16));
            if (entry.startsWith("hvd_copy_")) {
                int bytes = count * Integer.parseInt(entry.substring("hvd_copy_".length()));
                byte[] run = new byte[bytes];
                at(from).get(0, run);
                at(to).put(0, run);
            } else {
                List<DType> types = types(entry);
                Tensor source = read(from, types.get(0), Shape.of(count));
                new Converter().pack(source, 0, count, at(to), 0, types.get(1), arguments.scale());
            }
        }
    }

    private static List<DType> types(String entry) {
        List<DType> types = new ArrayList<>();
        for (String name : entry.substring("hvd_".length()).split("_to_")) {
            for (DType type : DType.values()) {
                if (type.toString().equals(name)) {
                    types.add(type);
                }
            }
        }
        return types;
    }

    @Override
    public void close() {
        streams.values().forEach(ExecutorService::shutdown); // another thread may be waiting for what is queued
    }
}
