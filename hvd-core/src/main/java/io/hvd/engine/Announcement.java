package io.hvd.engine;

import java.util.List;

/**
 * What a rank tells the coordinator.
 *
 * @param fresh requests that it has not announced before
 * @param closing true from the moment its context is being closed
 * @param failure why this rank cannot go on, or empty
 */
public record Announcement(List<Request> fresh, boolean closing, String failure) {
    public Announcement {
        fresh = List.copyOf(fresh);
    }

    static Announcement of(List<Request> fresh) {
        return new Announcement(fresh, false, "");
    }
}
