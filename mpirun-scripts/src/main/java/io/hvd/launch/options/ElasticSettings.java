package io.hvd.launch.options;

import io.hvd.launch.hosts.HostDiscovery;
import java.util.Optional;

/**
 * The sizes that an elastic job may have, and what becomes of hosts whose ranks fail.
 *
 * @param atLeast ranks below which it waits for others
 * @param atMost ranks to which it grows
 * @param timeoutSeconds for how long it waits
 * @param resets how often its ranks may change
 * @param cooldown after how long a slot is used again whose rank has failed; empty if it is not
 * @param discovery tells which hosts there are; empty if they are those that flags name
 */
public record ElasticSettings(
        int atLeast,
        int atMost,
        int timeoutSeconds,
        int resets,
        Optional<Cooldown> cooldown,
        Optional<HostDiscovery> discovery) {

    /** The first pause and the longest one, in seconds. */
    public record Cooldown(int least, int most) {}
}
