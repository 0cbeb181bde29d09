package io.hvd.job;

import io.hvd.transport.tcp.TaskMeeting;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What the scheduler of a cluster does for the ranks that it has started together.
 *
 * @param secret known to the ranks of this job alone
 * @param exchange gives every rank the words of all, by rank; each calls it once
 * @param cancelled why the scheduler no longer wants this rank; empty while it does
 */
public record TaskScheduler(byte[] secret, TaskMeeting.Exchange exchange, Supplier<Optional<String>> cancelled) {}
