package io.hvd.launch.direct;

import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.words.UsageException;
import io.hvd.net.ServerSockets;
import io.hvd.rendezvous.Meeting;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;

/** The rendezvous of a job's ranks in the launcher. */
final class LaunchMeeting {
    private LaunchMeeting() {}

    /**
     * Opens it, inside this machine only where all ranks are here.
     *
     * @param hosts of the ranks, in their order
     * @throws UsageException if this machine has no address at which other hosts could reach it
     */
    static Meeting of(LaunchFacts job, List<String> hosts) throws IOException {
        var network = job.settings().network();
        var limit = Duration.ofSeconds(job.settings().checks().limitSeconds());
        return Meeting.at(addresses(job), network.ports(), network.encryption(), limit, hosts);
    }

    /** Where the launcher listens for the ranks of a job. */
    static List<InetAddress> addresses(LaunchFacts job) throws IOException {
        List<InetAddress> addresses = job.allRanksHere()
                ? List.of(InetAddress.getLoopbackAddress())
                : ServerSockets.addresses(job.settings().network().ofLauncher());
        if (addresses.isEmpty()) {
            throw new UsageException(
                    "no-address",
                    "this machine has no network address but those inside it, and ranks on other hosts have to reach"
                            + " horovodrun's rendezvous here");
        }
        return addresses;
    }
}
