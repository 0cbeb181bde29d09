package io.hvd.optimizer.exchange;

import java.util.List;
import java.util.stream.IntStream;

/** When the gradients of a step are put where they travel, and their buckets start. */
sealed interface BucketSchedule permits BucketSchedule.Late, BucketSchedule.Early, BucketSchedule.Never {
    /**
     * The last backward pass of the step has reached the parameter.
     *
     * @return whether its gradient is put in its place now
     */
    boolean takes(int parameter);

    /** Whether a complete gradient stays where backward has left it until all of them travel. */
    boolean keeps(int parameter);

    /** Whether the gradients of the bucket have been sent off, or would have been in a step that travels bucket by bucket. */
    boolean hasLeft(int bucket);

    /** The buckets that would have been started by now in a step that travels bucket by bucket. */
    List<Integer> kept();

    /** All buckets start together when backward has ended; until then complete gradients are only counted. */
    record Late(BackwardPasses passes, TravellingBuckets travelling) implements BucketSchedule {
        @Override
        public boolean takes(int parameter) {
            if (!keeps(parameter)) {
                return true;
            }
            passes.fill(parameter);
            return false;
        }

        @Override
        public boolean keeps(int parameter) {
            return passes.buckets().contain(parameter);
        }

        @Override
        public boolean hasLeft(int bucket) {
            return travelling.arePrepared() && passes.isFull(bucket);
        }

        @Override
        public List<Integer> kept() {
            return IntStream.range(0, passes.buckets().count())
                    .filter(this::hasLeft)
                    .boxed()
                    .toList();
        }
    }

    /** A bucket starts as soon as its last gradient is there. */
    record Early(TravellingBuckets travelling) implements BucketSchedule {
        @Override
        public boolean takes(int parameter) {
            return true;
        }

        @Override
        public boolean keeps(int parameter) {
            return false;
        }

        @Override
        public boolean hasLeft(int bucket) {
            return travelling.arePrepared() && travelling.isStarted(bucket);
        }

        @Override
        public List<Integer> kept() {
            return List.of();
        }
    }

    /** Gradients stay on this rank, and are counted so that a program is refused what it is refused on several ranks. */
    record Never(BackwardPasses passes) implements BucketSchedule {
        @Override
        public boolean takes(int parameter) {
            if (passes.buckets().contain(parameter)) {
                passes.fill(parameter);
            }
            return false;
        }

        @Override
        public boolean keeps(int parameter) {
            return true;
        }

        @Override
        public boolean hasLeft(int bucket) {
            return passes.isFull(bucket);
        }

        @Override
        public List<Integer> kept() {
            return List.of();
        }
    }
}
