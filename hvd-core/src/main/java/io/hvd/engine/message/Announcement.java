package io.hvd.engine.message;

import java.util.BitSet;
import java.util.List;

/**
 * What a rank tells the coordinator.
 *
 * @param wishes the requests by process set; a set without new requests is left out
 * @param closing true from the moment when its context is being closed
 * @param failure why this rank cannot go on, or empty
 * @param done true when all ranks have closed and this rank has nothing left to do
 */
public record Announcement(List<Wishes> wishes, boolean closing, String failure, boolean done) {
    public Announcement {
        wishes = List.copyOf(wishes);
    }

    public Announcement(List<Wishes> wishes, boolean closing, String failure) {
        this(wishes, closing, failure, false);
    }

    /**
     * The last announcement, after the end of all operations: the other ranks need not wait for this one any longer.
     */
    public static Announcement ofTheEnd() {
        return new Announcement(List.of(), true, "", true);
    }

    /**
     * A rank's requests to one process set that it has not announced before.
     *
     * @param epoch the number of times that the set has begun or left a static plan; a rank announces requests of an
     *     older epoch again
     * @param seen number of plans of this set that the rank knows
     * @param known requests that the coordinator remembers, by their number in the response cache
     * @param fresh all other requests
     * @param sites the program's lines that made the requests in {@code fresh}; empty unless in strict mode
     */
    public record Wishes(int set, int epoch, long seen, BitSet known, List<Request> fresh, List<String> sites) {
        public Wishes {
            fresh = List.copyOf(fresh);
            sites = List.copyOf(sites);
        }
    }
}
