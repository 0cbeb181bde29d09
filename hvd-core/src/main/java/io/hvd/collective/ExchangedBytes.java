package io.hvd.collective;

import io.hvd.spi.Activities;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers.Transfer;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Collectives on bytes made of transfers, for transports that have no collectives. They reduce nothing: what is to be
 * reduced goes to the rank that adds it, by {@link #alltoall}.
 */
final class ExchangedBytes implements ByteCollectives {
    private final RingPosition position;
    private final NetworkWait wait;
    private Activities activities = Activities.UNHEARD;

    /** @param position has tags that no other transfers have */
    ExchangedBytes(RingPosition position, NetworkWait wait) {
        this.position = position;
        this.wait = wait;
    }

    @Override
    public void report(Activities to) {
        activities = to;
    }

    @Override
    public boolean reduces(DType type, ReduceOp op) {
        return false;
    }

    @Override
    public void allreduce(ByteBuffer data, int count, DType type, ReduceOp op) {
        throw new IllegalStateException("an allreduce of " + type + " by " + op + ", which reduces() does not allow");
    }

    @Override
    public void broadcast(ByteBuffer data, int bytes, int root) {
        await("BROADCAST", new RelayedBroadcast(position, Blocks.part(data, 0, bytes), root));
    }

    @Override
    public void allgatherInPlace(ByteBuffer data, int bytesOfEach) {
        await(
                "ALLGATHER",
                new Exchange(
                        position,
                        to -> Blocks.part(data, position.rank() * bytesOfEach, bytesOfEach),
                        from -> Blocks.part(data, from * bytesOfEach, bytesOfEach)));
    }

    @Override
    public void allgather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts) {
        int self = position.rank();
        all.put(starts[self], mine, 0, lengths[self]);
        await(
                "ALLGATHER",
                new Exchange(
                        position,
                        to -> Blocks.part(mine, 0, lengths[self]),
                        from -> Blocks.part(all, starts[from], lengths[from])));
    }

    @Override
    public void gather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts, int root) {
        int self = position.rank();
        if (self != root) {
            await("GATHER", sent(Blocks.part(mine, 0, lengths[self]), root));
            return;
        }
        all.put(starts[self], mine, 0, lengths[self]);
        List<Transfer> arriving = new ArrayList<>();
        for (int places = 1; places < position.size(); places++) {
            int from = position.before(places);
            position.receive(Messages.cut(Blocks.part(all, starts[from], lengths[from])), from, arriving);
        }
        await("GATHER", arriving);
    }

    @Override
    public void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int root) {
        int self = position.rank();
        if (self != root) {
            await("SCATTER", received(Blocks.part(mine, 0, lengths[self]), root));
            return;
        }
        mine.put(0, all, starts[self], lengths[self]);
        List<Transfer> leaving = new ArrayList<>();
        for (int places = 1; places < position.size(); places++) {
            int to = position.after(places);
            position.send(Messages.cut(Blocks.part(all, starts[to], lengths[to])), to, leaving);
        }
        await("SCATTER", leaving);
    }

    @Override
    public void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach) {
        int[] lengths = new int[position.size()];
        Arrays.fill(lengths, bytesOfEach);
        int[] starts = Stage.oneBehindTheOther(lengths);
        alltoall(out, lengths, starts, in, lengths, starts);
    }

    @Override
    public void alltoall(
            ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts) {
        int self = position.rank();
        in.put(inStarts[self], out, outStarts[self], inLengths[self]);
        await(
                "ALLTOALL",
                new Exchange(
                        position,
                        to -> Blocks.part(out, outStarts[to], outLengths[to]),
                        from -> Blocks.part(in, inStarts[from], inLengths[from])));
    }

    @Override
    public void send(ByteBuffer data, int bytes, int to) {
        await("SEND", sent(Blocks.part(data, 0, bytes), to));
    }

    @Override
    public void receive(ByteBuffer data, int bytes, int from) {
        await("RECV", received(Blocks.part(data, 0, bytes), from));
    }

    private List<Transfer> sent(ByteBuffer data, int to) {
        List<Transfer> leaving = new ArrayList<>();
        position.send(Messages.cut(data), to, leaving);
        return leaving;
    }

    private List<Transfer> received(ByteBuffer data, int from) {
        List<Transfer> arriving = new ArrayList<>();
        position.receive(Messages.cut(data), from, arriving);
        return arriving;
    }

    private void await(String activity, List<Transfer> transfers) {
        await(activity, () -> {
            transfers.removeIf(Transfer::isDone);
            return transfers.isEmpty();
        });
    }

    private void await(String activity, Completion completion) {
        long begun = activities.begin();
        wait.begin();
        while (!completion.isDone()) {
            wait.pause();
        }
        activities.end(activity, begun);
    }
}
