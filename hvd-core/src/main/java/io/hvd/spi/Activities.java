package io.hvd.spi;

/**
 * Receives what a data plane is doing, piece by piece, on the thread that does it: <pre>{@code long begun =
 * activities.begin(); pack(); activities.end("MEMCPY_IN_FUSION_BUFFER", begun); }</pre>
 */
public interface Activities {
    /** Ignores everything, for a data plane whose activities are not recorded. */
    Activities UNHEARD = new Activities() {
        @Override
        public long begin() {
            return 0;
        }

        @Override
        public void end(String name, long begun) {
            // Nothing is recorded.
        }

        @Override
        public Later later() {
            return null;
        }
    };

    /** The copy of a batch's elements, scaled and converted, to the place from which the collective takes them. */
    String COPY_IN = "MEMCPY_IN_FUSION_BUFFER";

    String COPY_OUT = "MEMCPY_OUT_FUSION_BUFFER";

    /** The wait for the other ranks' data. */
    String WAIT_FOR_DATA = "WAIT_FOR_DATA";

    /** The time in nanoseconds, for {@link #end}; 0 while nothing is recorded. */
    long begin();

    /**
     * Records an activity that ends now.
     *
     * @param name Horovod's name of the activity where it has one
     * @param begun the value that {@link #begin} has returned
     */
    void end(String name, long begun);

    /** Remembers the batch for activities whose times are not known yet; null while nothing is recorded. */
    Later later();

    /** Receives the activities of a device for the batch for which it was made. */
    interface Later {
        /**
         * Records an activity by times of {@link System#nanoTime()}.
         *
         * @param device such as {@code cuda:0}
         */
        void happened(String device, String name, long from, long to);
    }
}
