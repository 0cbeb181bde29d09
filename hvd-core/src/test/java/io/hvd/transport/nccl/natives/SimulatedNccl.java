package io.hvd.transport.nccl.natives;

import io.hvd.cuda.SimulatedGpu;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * NCCL between {@link SimulatedGpu}s, one object per rank. Like the real one it queues on streams, runs
 * groups as one and meets the other ranks on the device. It proves nothing about NCCL.
 */
public class SimulatedNccl implements NcclCalls {
    private static final int AVERAGE = 100;
    private static final int SCALED = 1000;
    private static final long LIMIT_SECONDS = 20;

    private final Map<Integer, SimulatedGpu> gpus;
    private final Fabric fabric;
    private final Map<Long, Member> members = new ConcurrentHashMap<>();
    private final List<Double> factors = new ArrayList<>();
    private List<Runnable> group;
    private int version = 21805;
    private SimulatedGpu selected;
    private SimulatedGpu groupGpu;
    private long groupStream;

    public SimulatedNccl(SimulatedGpu gpu, Fabric fabric) {
        this(Map.of(0, gpu), fabric);
        this.selected = gpu;
    }

    /** @param gpus of the rank, by index */
    public SimulatedNccl(Map<Integer, SimulatedGpu> gpus, Fabric fabric) {
        this.gpus = gpus;
        this.fabric = fabric;
    }

    /** What connects the ranks. */
    public static final class Fabric {
        private final AtomicLong ids = new AtomicLong();
        private final Map<Long, Team> teams = new ConcurrentHashMap<>();
    }

    private static final class Team {
        private final int size;
        private final List<ByteBuffer> posted;
        private final Map<Long, BlockingQueue<byte[]>> mail = new ConcurrentHashMap<>();
        private final Set<Integer> aborted = new HashSet<>();
        private int there;
        private long round;

        Team(int size) {
            this.size = size;
            posted = new ArrayList<>(java.util.Collections.nCopies(size, null));
        }

        /** As in NCCL's kernels, only the rank's own abort gets it out of waiting for one that never comes. */
        synchronized void meet(int rank) {
            long mine = round;
            if (++there == size) {
                there = 0;
                round++;
            }
            notifyAll();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
            while (round == mine) {
                if (aborted.contains(rank)) {
                    throw new IllegalStateException("the simulated communicator was aborted");
                }
                awaitUntil(end);
            }
        }

        public synchronized void awaitArrival() {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
            while (there == 0) {
                awaitUntil(end);
            }
        }

        private void awaitUntil(long end) {
            long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (millis <= 0) {
                throw new IllegalStateException("not all ranks came within " + LIMIT_SECONDS + " s");
            }
            try {
                wait(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        synchronized void abort(int rank) {
            aborted.add(rank);
            notifyAll();
        }

        BlockingQueue<byte[]> mail(int from, int to) {
            return mail.computeIfAbsent(((long) from << 32) | to, key -> new LinkedBlockingQueue<>());
        }
    }

    private record Member(Team team, int size, int rank, SimulatedGpu gpu) {}

    public SimulatedNccl ofVersion(int code) {
        version = code;
        return this;
    }

    @Override
    public String version() {
        return NcclCodes.version(version);
    }

    @Override
    public int versionCode() {
        return version;
    }

    @Override
    public void selectDevice(int index) {
        selected = gpus.getOrDefault(index, selected);
    }

    @Override
    public void recordAfterAllWork(long context, long event) {
        gpus.values().stream()
                .filter(gpu -> gpu.context() == context)
                .forEach(gpu -> gpu.recordAfterAllWork(context, event));
    }

    @Override
    public byte[] uniqueId() {
        byte[] id = new byte[128];
        ByteBuffer.wrap(id).putLong(0, fabric.ids.incrementAndGet());
        return id;
    }

    @Override
    public long join(byte[] uniqueId, int size, int rank) {
        long id = ByteBuffer.wrap(uniqueId).getLong(0);
        Team team = fabric.teams.computeIfAbsent(id, key -> new Team(size));
        team.meet(rank);
        members.put(id, new Member(team, size, rank, selected));
        return id;
    }

    @Override
    public void leave(long communicator) {
        Member member = members.remove(communicator);
        member.team().meet(member.rank());
    }

    @Override
    public void abort(long communicator) {
        Member member = members.remove(communicator);
        member.team().abort(member.rank());
        // As NCCL does, which frees memory on the device.
        member.gpu().awaitAll();
    }

    /** Blocks until some rank is in a kernel of this rank's only communicator and waits there for others. */
    public void awaitArrival() {
        members.values().iterator().next().team().awaitArrival();
    }

    @Override
    public void requireSound(long communicator) {
        Throwable failure = members.get(communicator).gpu().failure();
        if (failure != null) {
            throw new IllegalStateException("the simulated device has failed", failure);
        }
    }

    @Override
    public void groupStart() {
        group = new ArrayList<>();
    }

    @Override
    public void groupEnd() {
        List<Runnable> works = group;
        group = null;
        if (!works.isEmpty()) {
            groupGpu.enqueue(groupStream, () -> works.forEach(Runnable::run));
        }
    }

    private void queue(long communicator, long stream, boolean first, Runnable kernel) {
        Member member = members.get(communicator);
        if (group == null) {
            member.gpu().enqueue(stream, kernel);
        } else {
            groupGpu = member.gpu();
            groupStream = stream;
            // Sends must not wait for receives that come after them in the group.
            group.add(first ? 0 : group.size(), kernel);
        }
    }

    @Override
    public int operator(ReduceOp op) {
        return op.ordinal();
    }

    @Override
    public int average() {
        return AVERAGE;
    }

    @Override
    public int createScaledSum(double factor, DType type, long communicator) {
        factors.add(factor);
        return SCALED + factors.size() - 1;
    }

    @Override
    public void destroyOperator(int operator, long communicator) {
        factors.get(operator - SCALED);
    }

    private byte[] combined(Member member, int count, DType type, int operator) {
        ReduceOp op = operator < AVERAGE ? ReduceOp.values()[operator] : ReduceOp.SUM;
        double factor =
                operator < AVERAGE ? 1 : operator == AVERAGE ? 1.0 / member.size() : factors.get(operator - SCALED);
        List<ByteBuffer> sources = new ArrayList<>();
        for (ByteBuffer posted : member.team().posted) {
            ByteBuffer source =
                    ByteBuffer.allocateDirect(count * type.bytes() + 1).order(ByteOrder.nativeOrder());
            Tensor read = Tensor.zeros(type, Shape.of(count));
            new Converter().unpack(posted, 0, type, read, 0, count, Scale.ONE);
            new Converter().pack(read, 0, count, source, 0, type, factor);
            sources.add(source);
        }
        ByteBuffer target = ByteBuffer.allocateDirect(count * type.bytes() + 1).order(ByteOrder.nativeOrder());
        new Reducer().reduce(op, type, sources, 0, count, target);
        byte[] bytes = new byte[count * type.bytes()];
        target.get(0, bytes);
        return bytes;
    }

    /** All ranks show what they bring, take what they need, and only then write. */
    private void together(long communicator, long from, java.util.function.Function<Member, byte[]> take, long to) {
        Member member = members.get(communicator);
        member.team().posted.set(member.rank(), member.gpu().at(from));
        member.team().meet(member.rank());
        byte[] mine = take.apply(member);
        member.team().meet(member.rank());
        if (mine != null) {
            member.gpu().at(to).put(0, mine);
        }
    }

    @Override
    public void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream) {
        queue(
                communicator,
                stream,
                false,
                () -> together(communicator, from, member -> combined(member, (int) count, type, operator), to));
    }

    @Override
    public void reduce(
            long from, long to, long count, DType type, int operator, int root, long communicator, long stream) {
        queue(
                communicator,
                stream,
                false,
                () -> together(
                        communicator,
                        from,
                        member -> member.rank() == root ? combined(member, (int) count, type, operator) : null,
                        to));
    }

    @Override
    public void reduceScatter(
            long from, long to, long count, DType type, int operator, long communicator, long stream) {
        queue(
                communicator,
                stream,
                false,
                () -> together(
                        communicator,
                        from,
                        member -> {
                            byte[] all = combined(member, (int) count * member.size(), type, operator);
                            int share = (int) count * type.bytes();
                            return java.util.Arrays.copyOfRange(
                                    all, member.rank() * share, (member.rank() + 1) * share);
                        },
                        to));
    }

    @Override
    public void broadcast(long from, long to, long bytes, int root, long communicator, long stream) {
        queue(
                communicator,
                stream,
                false,
                () -> together(
                        communicator, from, member -> copy(member.team().posted.get(root), bytes), to));
    }

    @Override
    public void allGather(long from, long to, long bytes, long communicator, long stream) {
        queue(
                communicator,
                stream,
                false,
                () -> together(
                        communicator,
                        from,
                        member -> {
                            ByteBuffer all = ByteBuffer.allocate((int) bytes * member.size());
                            member.team().posted.forEach(posted -> all.put(copy(posted, bytes)));
                            return all.array();
                        },
                        to));
    }

    private static byte[] copy(ByteBuffer from, long bytes) {
        byte[] copy = new byte[(int) bytes];
        from.get(0, copy);
        return copy;
    }

    @Override
    public void send(long from, long bytes, int to, long communicator, long stream) {
        Member member = members.get(communicator);
        queue(
                communicator,
                stream,
                true,
                () -> member.team()
                        .mail(member.rank(), to)
                        .add(copy(member.gpu().at(from), bytes)));
    }

    @Override
    public void receive(long to, long bytes, int from, long communicator, long stream) {
        Member member = members.get(communicator);
        queue(communicator, stream, false, () -> {
            try {
                byte[] letter = member.team().mail(from, member.rank()).poll(LIMIT_SECONDS, TimeUnit.SECONDS);
                if (letter == null || letter.length != bytes) {
                    throw new IllegalStateException(bytes + " bytes were expected from rank " + from + ", found "
                            + (letter == null ? "none" : letter.length));
                }
                member.gpu().at(to).put(0, letter);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
