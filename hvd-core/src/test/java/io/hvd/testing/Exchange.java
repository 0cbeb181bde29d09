package io.hvd.testing;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** What MPI's exchange at the start is to ranks that are processes, for ranks that are threads of a test. */
public final class Exchange {
    private static final long LIMIT_SECONDS = 20;

    private final byte[][] brought;
    private final CyclicBarrier together;

    public Exchange(int size) {
        brought = new byte[size][];
        together = new CyclicBarrier(size);
    }

    /** One rank's way in; every rank comes the same number of times. */
    public Function<byte[], List<byte[]>> of(int rank) {
        return mine -> {
            brought[rank] = mine;
            await();
            List<byte[]> all = List.of(Arrays.copyOf(brought, brought.length));
            await();
            return all;
        };
    }

    private void await() {
        try {
            together.await(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError("a rank did not come to the exchange", e);
        }
    }
}
