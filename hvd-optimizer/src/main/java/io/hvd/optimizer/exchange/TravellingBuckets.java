package io.hvd.optimizer.exchange;

import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import java.util.ArrayList;
import java.util.List;

/** Prepares, starts and awaits the buckets of one optimizer, and adds up what they carry. */
final class TravellingBuckets {
    private final GradientReduction reduction;
    private final List<Parameter> parameters;
    private final GradientMeeting meeting;
    /** By bucket; empty on a rank that exchanges nothing. */
    private final List<BucketReduction> prepared = new ArrayList<>();
    /** The buckets that have been started in this step. */
    private final List<BucketReduction> started = new ArrayList<>();

    /** The number of steps in which something was sent. */
    private long steps;
    /** Size of the gradients of this step that were averaged before backward ended. */
    private long hiddenBytes;

    TravellingBuckets(GradientReduction reduction, List<Parameter> parameters, GradientMeeting meeting) {
        this.reduction = reduction;
        this.parameters = parameters;
        this.meeting = meeting;
    }

    /** @param passes number of backward passes whose sum each gradient is */
    void prepare(Buckets buckets, int passes) {
        List<BucketReduction> fresh = new ArrayList<>();
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            fresh.add(reduction.prepare(
                    bucket,
                    buckets.members(bucket).stream().map(parameters::get).toList(),
                    passes));
        }
        close();
        prepared.addAll(fresh);
    }

    /** Gives back what is prepared. */
    void close() {
        prepared.forEach(BucketReduction::close);
        prepared.clear();
    }

    boolean arePrepared() {
        return !prepared.isEmpty();
    }

    void startOver() {
        steps += started.isEmpty() ? 0 : 1;
        started.clear();
        hiddenBytes = 0;
    }

    boolean isStarted(int bucket) {
        return started.contains(prepared.get(bucket));
    }

    boolean areNoneStarted() {
        return started.isEmpty();
    }

    long steps() {
        return steps;
    }

    void start(int bucket) {
        meeting.begin();
        reduction.set().forOptimizers().inAnyOrder(() -> prepared.get(bucket).start(steps));
        started.add(prepared.get(bucket));
    }

    /** The buckets that hooks have sent before differ from rank to rank. */
    void startTogether(List<Integer> buckets) {
        List<BucketReduction> all = new ArrayList<>(buckets.size());
        for (int i = 0; i < buckets.size(); i++) {
            all.add(prepared.get(buckets.get(i)));
        }
        started.addAll(all); // also those that a failed start has left; nobody waits for these in vain
        reduction.set().forOptimizers().inAnyOrder(() -> BucketReduction.startAll(all, steps));
    }

    /** Backward has ended. */
    void noteHidden() {
        for (int i = 0; i < started.size(); i++) {
            hiddenBytes += started.get(i).bytesDone();
        }
    }

    long hiddenBytes() {
        return hiddenBytes;
    }

    /** Size of the gradients in the buckets that have been started. */
    long bytes() {
        long bytes = 0;
        for (BucketReduction bucket : started) {
            bytes += bucket.bytes();
        }
        return bytes;
    }

    /** The bytes that this rank has given to collectives. */
    long bytesSent() {
        return started.stream().mapToLong(BucketReduction::bytesSent).sum();
    }

    /** Waits for the buckets also if the comparison of the settings has failed, unless they may never come. */
    void await() {
        RuntimeException first = null;
        try {
            meeting.require();
        } catch (HvdException e) {
            first = e;
        }
        for (BucketReduction bucket : started) { // none, if the exchange has ended
            try {
                bucket.await();
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
