package io.hvd.optimizer.exchange;

import io.hvd.PreparedAllreduce;
import io.hvd.PreparedCollective;
import java.util.ArrayList;
import java.util.List;

/** A bucket that travels in an allreduce. */
record PreparedBucket(PreparedAllreduce allreduce) implements BucketReduction {
    @Override
    public void start(long step) {
        allreduce.start();
    }

    static void startTogether(List<BucketReduction> all) {
        // Every step takes this path, so it uses no streams, as in the engine.
        List<PreparedAllreduce> together = new ArrayList<>(all.size());
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i) instanceof PreparedBucket bucket) {
                together.add(bucket.allreduce);
            }
        }
        PreparedCollective.startAllAwaited(together);
    }

    @Override
    public void await() {
        allreduce.await();
    }

    @Override
    public long bytes() {
        return allreduce.bytes();
    }

    @Override
    public long bytesDone() {
        return allreduce.bytesDone();
    }

    @Override
    public long bytesSent() {
        return allreduce.wireBytes();
    }

    @Override
    public void close() {
        allreduce.close();
    }
}
