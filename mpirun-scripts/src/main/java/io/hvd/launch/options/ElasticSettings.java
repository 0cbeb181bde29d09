package io.hvd.launch.options;

import io.hvd.launch.hosts.HostDiscovery;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The sizes that an elastic job may have, and what becomes of hosts whose ranks fail.
 *
 * @param atLeast ranks below which it waits for others
 * @param atMost ranks to which it grows
 * @param timeoutSeconds for how long it waits
 * @param resets how often its ranks may change
 * @param cooldown after how long a slot is used again whose rank has failed; empty if it is not
 * @param discovery tells which hosts there are; empty if they are those that flags name
 * @param coordinatorPort where horovodrun waits for ranks that others start; empty if it starts them itself
 */
public record ElasticSettings(
        int atLeast,
        int atMost,
        int timeoutSeconds,
        int resets,
        Optional<Cooldown> cooldown,
        Optional<HostDiscovery> discovery,
        OptionalInt coordinatorPort) {

    /** The first pause and the longest one, in seconds. */
    public record Cooldown(int least, int most) {}
}
