package io.hvd.data.parquet;

import io.hvd.error.HvdException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/** The blocks used last. Threads that ask for the same one at the same time wait for the one that decodes it. */
final class BlockCache {
    private final int most;
    private final IntFunction<RowBlock> decode;
    private final AtomicLong decoded = new AtomicLong();
    /** In the order of their last use; guarded by this. */
    private final Map<Integer, FutureTask<RowBlock>> blocks = new LinkedHashMap<>(16, 0.75f, true);

    BlockCache(int most, IntFunction<RowBlock> decode) {
        this.most = most;
        this.decode = decode;
    }

    int most() {
        return most;
    }

    long decoded() {
        return decoded.get();
    }

    RowBlock get(int number) throws InterruptedException {
        FutureTask<RowBlock> block = task(number);
        block.run(); // nothing, if another thread has begun
        try {
            return block.get();
        } catch (ExecutionException e) {
            forget(number, block);
            throw thrownHere(e.getCause());
        }
    }

    private synchronized FutureTask<RowBlock> task(int number) {
        FutureTask<RowBlock> block = blocks.computeIfAbsent(
                number,
                missing -> new FutureTask<>(() -> {
                    decoded.incrementAndGet();
                    return decode.apply(missing);
                }));
        if (blocks.size() > most) {
            blocks.remove(blocks.keySet().iterator().next());
        }
        return block;
    }

    private synchronized void forget(int number, FutureTask<RowBlock> failed) {
        blocks.remove(number, failed);
    }

    private static RuntimeException thrownHere(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof HvdException known ? known.seenHere() : new IllegalStateException(cause);
    }
}
