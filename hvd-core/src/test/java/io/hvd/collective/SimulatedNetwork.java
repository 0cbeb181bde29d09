package io.hvd.collective;

import io.hvd.spi.Transfers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Messages between ranks that are threads. They are read from the sender's memory only when the receiver asks for them,
 * and at times even later, so that tests notice memory that changes too early.
 */
public final class SimulatedNetwork {
    private final Map<Route, Line> lines = new ConcurrentHashMap<>();
    private final AtomicLongArray sent;

    public SimulatedNetwork(int ranks) {
        sent = new AtomicLongArray(ranks);
    }

    long bytesSentBy(int rank) {
        return sent.get(rank);
    }

    public Transfers of(int rank) {
        Random delays = new Random(rank);
        return new Transfers() {
            @Override
            public int fastestBytes() {
                return UNASKED_BYTES;
            }

            @Override
            public Transfer send(ByteBuffer bytes, int to, int tag) {
                sent.addAndGet(rank, bytes.remaining());
                return givingWay(line(rank, to, tag).send(bytes.slice()));
            }

            @Override
            public Transfer receive(ByteBuffer bytes, int from, int tag) {
                Transfer whenThere = line(from, rank, tag).receive(bytes.slice());
                return givingWay(() -> delays.nextInt(3) > 0 && whenThere.isDone());
            }
        };
    }

    /** There are more ranks than cores. */
    private static Transfers.Transfer givingWay(Transfers.Transfer transfer) {
        return () -> {
            boolean done = transfer.isDone();
            if (!done) {
                Thread.yield();
            }
            return done;
        };
    }

    private Line line(int from, int to, int tag) {
        return lines.computeIfAbsent(new Route(from, to, tag), route -> new Line());
    }

    private record Route(int from, int to, int tag) {}

    /** The n-th message goes to who was the n-th to ask. */
    private static final class Line {
        private final List<Letter> letters = new ArrayList<>();
        private int asked;

        synchronized Transfers.Transfer send(ByteBuffer bytes) {
            Letter letter = new Letter(bytes);
            letters.add(letter);
            return () -> isTaken(letter);
        }

        synchronized Transfers.Transfer receive(ByteBuffer into) {
            int number = asked++;
            return () -> take(number, into);
        }

        private synchronized boolean isTaken(Letter letter) {
            return letter.taken;
        }

        private synchronized boolean take(int number, ByteBuffer into) {
            if (letters.size() <= number) {
                return false;
            }
            Letter letter = letters.get(number);
            if (!letter.taken) {
                if (letter.bytes.remaining() != into.remaining()) {
                    throw new AssertionError(
                            letter.bytes.remaining() + " bytes were sent, expected " + into.remaining());
                }
                into.duplicate().put(letter.bytes.duplicate());
                letter.taken = true;
            }
            return true;
        }
    }

    private static final class Letter {
        private final ByteBuffer bytes;
        private boolean taken;

        Letter(ByteBuffer bytes) {
            this.bytes = bytes;
        }
    }
}
