package io.hvd.launch.options;

import io.hvd.launch.hosts.HostDiscovery;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.words.UsageException;
import java.util.List;
import java.util.Optional;

/**
 * How often a job is started again that has failed, and with how many ranks.
 *
 * @param limit how often at most
 * @param atLeast ranks without which it is not started again
 * @param atMost ranks that it has if there are slots for them
 * @param discovery tells which hosts there are; empty if they are those that flags name
 */
public record RestartSettings(int limit, int atLeast, int atMost, Optional<HostDiscovery> discovery) {

    /**
     * The number of ranks of the next start.
     *
     * @param left the hosts that can be used
     * @throws UsageException if they have too few slots
     */
    public int ranks(List<HostSlots> left) {
        int slots = HostSlots.total(left);
        if (slots < atLeast) {
            throw new UsageException(
                    "too-few-slots",
                    "the hosts that are left" + (left.isEmpty() ? "" : ", " + HostSlots.join(left) + ",") + " have "
                            + slots + " slots, and the job needs at least " + atLeast + " ranks (--min-np)");
        }
        return Math.min(slots, atMost);
    }
}
