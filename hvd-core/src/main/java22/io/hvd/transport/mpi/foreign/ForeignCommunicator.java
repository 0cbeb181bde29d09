package io.hvd.transport.mpi.foreign;

import static io.hvd.transport.mpi.foreign.Functions.CONVENTION;
import static io.hvd.transport.mpi.foreign.Functions.address;
import static io.hvd.transport.mpi.foreign.Functions.run;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.foreign.Functions.Call;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** A communicator, by its handle. Only the communication thread uses it, except for {@link #abort}. */
record ForeignCommunicator(long handle) implements MpiCommunicator {
    /** Where MPI writes a handle, and then a flag. Only one thread calls MPI. */
    private static final MemorySegment OUT = Arena.global().allocate(2 * Long.BYTES, Long.BYTES);

    private static final long HANDLE = OUT.address();
    private static final long FLAG = HANDLE + Long.BYTES;

    private static final long BYTE = CONVENTION.types().bytes();

    private static long written() {
        return CONVENTION.intHandles() ? OUT.get(ValueLayout.JAVA_INT, 0) : OUT.get(ValueLayout.JAVA_LONG, 0);
    }

    private static void write(long handle) {
        if (CONVENTION.intHandles()) {
            OUT.set(ValueLayout.JAVA_INT, 0, (int) handle);
        } else {
            OUT.set(ValueLayout.JAVA_LONG, 0, handle);
        }
    }

    private static boolean flag() {
        return OUT.get(ValueLayout.JAVA_INT, Long.BYTES) != 0;
    }

    /** @param data whose address the call uses, so that it is kept until then */
    private static void runWith(ByteBuffer data, String function, Call call) {
        run(function, call);
        Reference.reachabilityFence(data);
    }

    private static void runWith(ByteBuffer one, ByteBuffer other, String function, Call call) {
        run(function, call);
        Reference.reachabilityFence(one);
        Reference.reachabilityFence(other);
    }

    @Override
    public int rank() {
        return ForeignMpi.number("MPI_Comm_rank", out -> (int) Functions.COMM_RANK.invokeExact(handle, out));
    }

    @Override
    public int size() {
        return ForeignMpi.number("MPI_Comm_size", out -> (int) Functions.COMM_SIZE.invokeExact(handle, out));
    }

    @Override
    public MpiCommunicator duplicate() {
        run("MPI_Comm_dup", () -> (int) Functions.COMM_DUP.invokeExact(handle, HANDLE));
        return made();
    }

    private static MpiCommunicator made() {
        return new ForeignCommunicator(written());
    }

    @Override
    public MpiCommunicator of(int[] ranks, int tag) {
        try (Arena arena = Arena.ofConfined()) {
            run("MPI_Comm_group", () -> (int) Functions.COMM_GROUP.invokeExact(handle, HANDLE));
            long all = written();
            long members = Functions.numbers(arena, ranks);
            run("MPI_Group_incl", () -> (int) Functions.GROUP_INCL.invokeExact(all, ranks.length, members, HANDLE));
            long some = written();
            run("MPI_Comm_create_group", () ->
                    (int) Functions.COMM_CREATE_GROUP.invokeExact(handle, some, tag, HANDLE));
            MpiCommunicator theirs = made();
            freeGroup(some);
            freeGroup(all);
            return theirs;
        }
    }

    private static void freeGroup(long group) {
        write(group);
        run("MPI_Group_free", () -> (int) Functions.GROUP_FREE.invokeExact(HANDLE));
    }

    @Override
    public void free() {
        write(handle);
        run("MPI_Comm_free", () -> (int) Functions.COMM_FREE.invokeExact(HANDLE));
    }

    @Override
    public void abort(int exitCode) {
        run("MPI_Abort", () -> (int) Functions.ABORT.invokeExact(handle, exitCode));
    }

    @Override
    public void probe(int tag) {
        run("MPI_Iprobe", () -> (int)
                Functions.IPROBE.invokeExact(CONVENTION.anySource(), tag, handle, FLAG, CONVENTION.statusIgnore()));
    }

    @Override
    public Request send(ByteBuffer data, int bytes, int to, int tag) {
        long start = address(data);
        run("MPI_Isend", () -> (int) Functions.ISEND.invokeExact(start, bytes, BYTE, to, tag, handle, HANDLE));
        return new Started("MPI_Isend", written(), data);
    }

    @Override
    public Request receive(ByteBuffer data, int bytes, int from, int tag) {
        long start = address(data);
        run("MPI_Irecv", () -> (int) Functions.IRECV.invokeExact(start, bytes, BYTE, from, tag, handle, HANDLE));
        return new Started("MPI_Irecv", written(), data);
    }

    private static final class Started implements Request {
        private final String function;
        private final long request;
        /** Kept, so that its memory is there until MPI is done with it. */
        private final ByteBuffer data;

        private boolean done;

        Started(String function, long request, ByteBuffer data) {
            this.function = function;
            this.request = request;
            this.data = data;
        }

        @Override
        public boolean isDone() {
            if (done) {
                return true; // MPI has freed the request
            }
            write(request);
            run(function, Started::test);
            Reference.reachabilityFence(data);
            done = flag();
            return done;
        }

        private static int test() throws Throwable {
            return (int) Functions.TEST.invokeExact(HANDLE, FLAG, CONVENTION.statusIgnore());
        }
    }

    @Override
    public void allreduce(ByteBuffer data, int count, DType type, ReduceOp op) {
        long start = address(data);
        runWith(data, "MPI_Allreduce", () -> (int) Functions.ALLREDUCE.invokeExact(
                CONVENTION.inPlace(),
                start,
                count,
                CONVENTION.types().of(type),
                CONVENTION.operations().of(op),
                handle));
    }

    @Override
    public void broadcast(ByteBuffer data, int bytes, int root) {
        long start = address(data);
        runWith(data, "MPI_Bcast", () -> (int) Functions.BCAST.invokeExact(start, bytes, BYTE, root, handle));
    }

    @Override
    public void allgather(ByteBuffer data, int bytesOfEach) {
        long start = address(data);
        runWith(data, "MPI_Allgather", () -> (int) Functions.ALLGATHER.invokeExact(
                CONVENTION.inPlace(), bytesOfEach, BYTE, start, bytesOfEach, BYTE, handle));
    }

    @Override
    public void allgather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts) {
        try (Arena arena = Arena.ofConfined()) {
            long counts = Functions.numbers(arena, lengths);
            long places = Functions.numbers(arena, starts);
            long source = address(mine);
            long target = address(all);
            runWith(mine, all, "MPI_Allgatherv", () ->
                    (int) Functions.ALLGATHERV.invokeExact(source, bytes, BYTE, target, counts, places, BYTE, handle));
        }
    }

    @Override
    public void gather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts, int root) {
        try (Arena arena = Arena.ofConfined()) {
            long counts = Functions.numbers(arena, lengths);
            long places = Functions.numbers(arena, starts);
            long source = address(mine);
            long target = address(all);
            runWith(mine, all, "MPI_Gatherv", () -> (int)
                    Functions.GATHERV.invokeExact(source, bytes, BYTE, target, counts, places, BYTE, root, handle));
        }
    }

    @Override
    public void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int bytes, int root) {
        try (Arena arena = Arena.ofConfined()) {
            long counts = Functions.numbers(arena, lengths);
            long places = Functions.numbers(arena, starts);
            long source = address(all);
            long target = address(mine);
            runWith(all, mine, "MPI_Scatterv", () -> (int)
                    Functions.SCATTERV.invokeExact(source, counts, places, BYTE, target, bytes, BYTE, root, handle));
        }
    }

    @Override
    public void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach) {
        long source = address(out);
        long target = address(in);
        runWith(out, in, "MPI_Alltoall", () ->
                (int) Functions.ALLTOALL.invokeExact(source, bytesOfEach, BYTE, target, bytesOfEach, BYTE, handle));
    }

    @Override
    public void alltoall(
            ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts) {
        try (Arena arena = Arena.ofConfined()) {
            long outCounts = Functions.numbers(arena, outLengths);
            long outPlaces = Functions.numbers(arena, outStarts);
            long inCounts = Functions.numbers(arena, inLengths);
            long inPlaces = Functions.numbers(arena, inStarts);
            long source = address(out);
            long target = address(in);
            runWith(out, in, "MPI_Alltoallv", () -> (int) Functions.ALLTOALLV.invokeExact(
                    source, outCounts, outPlaces, BYTE, target, inCounts, inPlaces, BYTE, handle));
        }
    }

    @Override
    public void sendAndWait(ByteBuffer data, int bytes, int to, int tag) {
        long start = address(data);
        runWith(data, "MPI_Send", () -> (int) Functions.SEND.invokeExact(start, bytes, BYTE, to, tag, handle));
    }

    @Override
    public void receiveAndWait(ByteBuffer data, int bytes, int from, int tag) {
        long start = address(data);
        runWith(data, "MPI_Recv", () ->
                (int) Functions.RECV.invokeExact(start, bytes, BYTE, from, tag, handle, CONVENTION.statusIgnore()));
    }
}
