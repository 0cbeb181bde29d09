package io.hvd.launch.hosts;

/**
 * How other hosts are looked at before the start.
 *
 * @param useCache whether what was found within the last hour still counts
 */
public record HostChecks(int limitSeconds, boolean useCache) {}
