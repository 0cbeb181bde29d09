package io.hvd.elastic;

/**
 * The limits of an elastic job, with the meaning that they have in Horovod.
 *
 * @param atLeast ranks without which a generation does not begin ({@code --min-np})
 * @param atMost ranks that a generation has at most ({@code --max-np}); further workers wait until they are needed
 * @param first workers for which the first generation waits, as long as it may ({@code -np})
 * @param startMillis how long the first generation may wait for its workers ({@code --start-timeout}, or the next if that is more)
 * @param timeoutMillis how long a later generation may wait for enough ranks ({@code --elastic-timeout})
 * @param resets how many generations may follow the first one ({@code --reset-limit}); {@link Integer#MAX_VALUE} if any
 * @param names what the user calls them, for messages
 */
public record ElasticLimits(
        int atLeast, int atMost, int first, long startMillis, long timeoutMillis, int resets, Names names) {
    /** What the user calls the limits. */
    public record Names(String atLeast, String start, String timeout, String resets) {
        /** The flags of horovodrun. */
        public static final Names FLAGS = new Names(
                "--min-np",
                "the larger of --start-timeout and --elastic-timeout",
                "--elastic-timeout",
                "--reset-limit");
    }

    /** Limits that flags of horovodrun have set. */
    public ElasticLimits(int atLeast, int atMost, int first, long startMillis, long timeoutMillis, int resets) {
        this(atLeast, atMost, first, startMillis, timeoutMillis, resets, Names.FLAGS);
    }

    public ElasticLimits {
        if (atLeast < 1 || first < atLeast || atMost < first || startMillis < 1 || timeoutMillis < 1 || resets < 0) {
            throw new IllegalArgumentException(
                    "an elastic job of " + atLeast + " to " + atMost + " ranks that begins with "
                            + first + ", with a limit of " + timeoutMillis + " ms and " + resets
                            + " resets: expected 1 <= least <= first <= most, a positive limit and no negative number of resets");
        }
    }
}
