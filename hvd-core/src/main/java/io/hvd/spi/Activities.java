package io.hvd.spi;

/**
 * Hears what a data plane is doing, piece by piece, on the thread that does it:
 *
 * <pre>{@code
 * long begun = activities.begin();
 * pack();
 * activities.end("MEMCPY_IN_FUSION_BUFFER", begun);
 * }</pre>
 */
public interface Activities {
    /** For a data plane that nobody listens to. */
    Activities UNHEARD = new Activities() {
        @Override
        public long begin() {
            return 0;
        }

        @Override
        public void end(String name, long begun) {
            // Nobody wants to know.
        }
    };

    /** The elements of a batch go to where the collective takes them from, scaled and converted. */
    String COPY_IN = "MEMCPY_IN_FUSION_BUFFER";

    String COPY_OUT = "MEMCPY_OUT_FUSION_BUFFER";

    /** The other ranks have not brought theirs yet. */
    String WAIT_FOR_DATA = "WAIT_FOR_DATA";

    /** The time, for {@link #end}; 0 while nobody listens. */
    long begin();

    /** @param name in Horovod's words where it has one */
    void end(String name, long begun);
}
