package io.hvd.control;

import io.hvd.control.BarrierWord.What;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.LastBarrier;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.BitSet;
import java.util.OptionalInt;

/**
 * The last barrier of a job over sockets: the ranks meet when a context is closed and, under MPI, before they join again
 * and before MPI_Finalize. They meet over sockets of their own and not over MPI, so that a fault in MPI cannot hold them up.
 */
public final class FinalBarrier implements LastBarrier, ControlChannel.Inbox {
    private final SocketControl star;
    private final int rank;
    /**
     * On rank 0 the last meeting that each rank has come to, by rank, counted from one. Elsewhere one element: the last
     * meeting that rank 0 has called complete, or incomplete.
     */
    private final int[] reached;

    private final BitSet lost = new BitSet();
    /** On rank 0 the ranks that have come to join again. */
    private final BitSet again = new BitSet();

    /** Once false it stays so: a rank that leaves ends its process, and never comes again. */
    private boolean complete = true;
    /** A rank because of which the meeting is not complete. */
    private int other;

    private int meeting;

    /** @param star the connections between rank 0 and the others, used for nothing else */
    public FinalBarrier(SocketControl star, int rank, int size) {
        this.star = star;
        this.rank = rank;
        this.reached = new int[rank == 0 ? size : 1];
    }

    @Override
    public boolean meet() {
        return meet(What.HERE);
    }

    @Override
    public OptionalInt meetAgain() {
        return meet(What.AGAIN) ? OptionalInt.empty() : OptionalInt.of(other);
    }

    private boolean meet(What purpose) {
        meeting++;
        if (rank == 0) {
            reached[0] = meeting;
            again.set(0, purpose == What.AGAIN);
            receiveUntilAllHaveCome(Long.MAX_VALUE);
            answer();
        } else {
            tell(0, purpose);
            receiveUntilAllHaveCome(Long.MAX_VALUE);
        }
        return complete;
    }

    private void answer() {
        for (int to = 1; to < reached.length; to++) {
            tell(to, complete ? What.ALL_HERE : What.NOT_ALL);
        }
        while (!star.isFlushed()) {
            star.receive(Long.MAX_VALUE, this);
        }
    }

    @Override
    public void leave(boolean well, Duration limit) {
        meeting++;
        if (rank > 0) {
            tell(0, well ? What.HERE : What.NOT_ALL);
            return;
        }
        reached[0] = meeting;
        again.clear(0);
        complete &= well;
        receiveUntilAllHaveCome(limit.toNanos());
        complete &= haveAllCome();
        answer();
    }

    /** An interrupt, at which a selector no longer waits, is kept for later. */
    private void receiveUntilAllHaveCome(long limitNanos) {
        long begun = System.nanoTime();
        long left = limitNanos;
        boolean interrupted = false;
        while (!haveAllCome() && complete && left > 0) {
            interrupted |= Thread.interrupted();
            star.receive(left, this);
            left = limitNanos == Long.MAX_VALUE ? limitNanos : limitNanos - (System.nanoTime() - begun);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether all ranks have come; some of them may be gone by now. */
    private boolean haveAllCome() {
        boolean all = true;
        for (int of = 0; of < reached.length; of++) {
            boolean missing = reached[of] < meeting;
            all &= !missing;
            if (missing && lost.get(of)) {
                isKeptBy(of);
            } else if (!missing && again.get(of) != again.get(0)) {
                isKeptBy(again.get(0) ? of : 0);
            }
        }
        return all;
    }

    private void isKeptBy(int of) {
        if (complete) {
            other = of;
        }
        complete = false;
    }

    private void tell(int to, What word) {
        star.send(to, new BarrierWord(meeting, word, other).encode());
    }

    @Override
    public void message(int from, ByteBuffer message) {
        BarrierWord word = BarrierWord.decode(message);
        reached[from] = word.meeting();
        if (word.what() == What.NOT_ALL) {
            isKeptBy(rank == 0 ? from : word.other());
        }
        again.set(from, rank == 0 && word.what() == What.AGAIN);
    }

    @Override
    public void lost(int of, String why) {
        lost.set(of);
    }

    @Override
    public void close() {
        star.close();
    }
}
