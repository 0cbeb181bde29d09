package io.hvd.optimizer;

import io.hvd.PreparedAllreduce;
import java.util.List;

/** A bucket that travels in an allreduce. */
record PreparedBucket(PreparedAllreduce allreduce) implements BucketReduction {
    @Override
    public void start(long step) {
        allreduce.start();
    }

    static void startTogether(List<BucketReduction> all) {
        PreparedAllreduce.startAll(all.stream()
                .filter(PreparedBucket.class::isInstance)
                .map(bucket -> ((PreparedBucket) bucket).allreduce)
                .toList());
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
