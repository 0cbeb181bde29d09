package io.hvd.transport.mpi;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.MpiCommunicator.Request;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Lets the ranks of a job of some ranks meet before they make a communicator, for which MPI would wait for ever where one
 * of them has come to its end. The first of them and each other one tell each other that they are there; then the first
 * one tells those who are who is not. On the communication thread.
 */
final class SubsetMeeting {
    private static final int HERE_TAG = 4714;
    private static final int OUTCOME_TAG = 4715;
    private static final long PAUSE_NANOS = 200_000;
    /** For the outcome, which the first one sends when its own time is over. */
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final MpiCommunicator world;
    /** A rank that comes when the others' time is over still writes to the buffers that they have given to MPI. */
    private final List<ByteBuffer> inUse = new ArrayList<>();

    SubsetMeeting(MpiCommunicator world) {
        this.world = world;
    }

    /**
     * All members call it together.
     *
     * @throws HvdException on all members that have come, if one has not within the limit; it names those
     */
    void require(List<Integer> members, Duration limit) {
        boolean isFirst = world.rank() == members.get(0);
        List<Integer> missing = isFirst ? hear(members, limit) : ask(members, limit);
        if (!missing.isEmpty()) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "ranks " + missing + " have not called Hvd.init(" + members + ") within " + limit.toSeconds()
                            + " s (HOROVOD_START_TIMEOUT), as rank " + world.rank()
                            + " has: they work on, or name other"
                            + " ranks, or their processes end");
        }
        inUse.clear();
    }

    private List<Integer> hear(List<Integer> members, Duration limit) {
        List<Integer> others = members.subList(1, members.size());
        List<Request> here =
                others.stream().map(from -> receive(buffer(1), from, HERE_TAG)).toList();
        others.forEach(to -> send(buffer(1), to, HERE_TAG));
        areDone(here, limit);
        List<Integer> came = IntStream.range(0, others.size())
                .filter(other -> here.get(other).isDone())
                .mapToObj(others::get)
                .toList();
        ByteBuffer outcome = buffer(members.size());
        members.forEach(member -> outcome.put((byte) (member == world.rank() || came.contains(member) ? 1 : 0)));
        areDone(came.stream().map(to -> send(outcome, to, OUTCOME_TAG)).toList(), limit);
        return missing(members, outcome);
    }

    private List<Integer> ask(List<Integer> members, Duration limit) {
        int first = members.get(0);
        send(buffer(1), first, HERE_TAG);
        ByteBuffer outcome = buffer(members.size());
        boolean told = areDone(List.of(receive(buffer(1), first, HERE_TAG)), limit)
                && areDone(List.of(receive(outcome, first, OUTCOME_TAG)), limit.plus(GRACE));
        return told ? missing(members, outcome) : List.of(first);
    }

    private static List<Integer> missing(List<Integer> members, ByteBuffer outcome) {
        return IntStream.range(0, members.size())
                .filter(place -> outcome.get(place) == 0)
                .mapToObj(members::get)
                .toList();
    }

    private ByteBuffer buffer(int bytes) {
        ByteBuffer buffer = BufferLedger.PROCESS.direct(Owner.MPI, bytes);
        inUse.add(buffer);
        return buffer;
    }

    private Request send(ByteBuffer data, int to, int tag) {
        return world.send(data.duplicate().clear(), data.capacity(), to, tag);
    }

    private Request receive(ByteBuffer data, int from, int tag) {
        return world.receive(data.duplicate().clear(), data.capacity(), from, tag);
    }

    /** Whether all are done within the limit. An interrupt is kept for later. */
    private static boolean areDone(List<Request> requests, Duration limit) {
        long begun = System.nanoTime();
        boolean interrupted = false;
        List<Request> left = new ArrayList<>(requests);
        left.removeIf(Request::isDone);
        while (!left.isEmpty() && System.nanoTime() - begun < limit.toNanos()) {
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(PAUSE_NANOS);
            left.removeIf(Request::isDone);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return left.isEmpty();
    }
}
