package io.hvd.launch.options;

import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.launch.hosts.HostChecks;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.mpi.Starter;
import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import java.util.List;
import java.util.Optional;

/**
 * The user's choices for horovodrun, checked and free of any knowledge of the machine.
 *
 * @param starter what starts the ranks
 * @param ranks number of processes; 0 where the action needs none
 * @param elastic how many ranks an elastic job may have; empty for a job of a fixed size
 * @param restarts how often the job is started again that has failed; empty if it is not
 * @param hosts the hosts on which they may run, in order; empty: this machine, or what a resource manager has allotted
 * @param ssh the way to the other hosts
 * @param checks the way in which they are looked at before the start
 * @param network the networks that may carry data
 * @param output the other places for the ranks' output
 * @param words the words for mpirun
 * @param java the flags that horovodrun adds to a java
 * @param assignments the variables that flags set for the ranks
 * @param notes remarks on flags that have no effect
 * @param command the program and the arguments of every rank
 */
public record LaunchSettings(
        Action action,
        Starter starter,
        int ranks,
        Optional<ElasticSettings> elastic,
        Optional<RestartSettings> restarts,
        List<HostSlots> hosts,
        SshAccess ssh,
        HostChecks checks,
        Network network,
        Output output,
        Words words,
        Java java,
        List<Assignment> assignments,
        List<String> notes,
        boolean verbose,
        List<String> command) {

    /** The same job, started for another time; its ranks write their output to a folder of their own. */
    public LaunchSettings again(int restart, int otherRanks, List<HostSlots> otherHosts) {
        var otherOutput =
                new Output(output.directory().map(folder -> folder + "/restart-" + restart), output.prefixed());
        return new LaunchSettings(
                action,
                starter,
                otherRanks,
                elastic,
                restarts,
                otherHosts,
                ssh,
                checks,
                network,
                otherOutput,
                words,
                java,
                assignments,
                notes,
                verbose,
                command);
    }

    public enum Action {
        RUN,
        /** The coordinator of an elastic job waits for ranks that others start. */
        COORDINATE,
        DRY_RUN,
        CHECK_BUILD,
        VERSION,
        HELP
    }

    /**
     * @param interfaces comma list of network interfaces for all that the job sends
     * @param ofLauncher comma list of those where the launcher's own sockets listen; empty for all that lead out
     * @param tcpOnly whether faster networks are left alone
     * @param ports where the launcher's own sockets listen
     * @param encryption of the connections there
     */
    public record Network(
            Optional<String> interfaces, String ofLauncher, boolean tcpOnly, PortRange ports, Encryption encryption) {}

    /**
     * @param directory the folder for one file per rank and stream
     * @param prefixed whether time, rank and stream stand before each line
     */
    public record Output(Optional<String> directory, boolean prefixed) {}

    /** @param flags whether JVMs that share cores get flags */
    public record Java(ArchiveChoice archive, boolean flags) {}

    /**
     * @param binding instead of ours
     * @param more put before the command
     */
    public record Words(Optional<List<String>> binding, List<String> more) {}
}
