package io.hvd.engine;

import java.util.BitSet;
import java.util.List;

/**
 * What a rank tells the coordinator.
 *
 * @param wishes by process set; a set that wants nothing new is left out
 * @param closing true from the moment its context is being closed
 * @param failure why this rank cannot go on, or empty
 * @param done true when all ranks have closed and nothing of this one's is left to be done
 */
public record Announcement(List<Wishes> wishes, boolean closing, String failure, boolean done) {
    public Announcement {
        wishes = List.copyOf(wishes);
    }

    public Announcement(List<Wishes> wishes, boolean closing, String failure) {
        this(wishes, closing, failure, false);
    }

    /** After the end of all operations: the others need not wait for this rank any longer. */
    static Announcement ofTheEnd() {
        return new Announcement(List.of(), true, "", true);
    }

    /**
     * What a rank wants of one process set and has not announced before.
     *
     * @param epoch counts how often the set has taken up or left a static plan; wishes of an older epoch
     *     are announced again by their rank
     * @param seen number of plans of this set that the rank knows
     * @param known requests that the coordinator remembers, by their number in the response cache
     * @param fresh all others
     * @param sites in strict mode, the lines that asked for {@code fresh}; else empty
     */
    public record Wishes(int set, int epoch, long seen, BitSet known, List<Request> fresh, List<String> sites) {
        public Wishes {
            fresh = List.copyOf(fresh);
            sites = List.copyOf(sites);
        }
    }
}
