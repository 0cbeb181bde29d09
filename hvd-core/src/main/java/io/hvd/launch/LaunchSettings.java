package io.hvd.launch;

import java.util.List;
import java.util.Optional;

/**
 * What the user asked of horovodrun, checked and free of any knowledge of the machine.
 *
 * @param ranks number of processes; 0 where the action needs none
 * @param hosts where they may run, in order; empty: this machine, or what a resource manager has allotted
 * @param interfaces comma list of network interfaces
 * @param mpiArguments words for mpirun itself, put before the command
 * @param command program and arguments of every rank
 */
record LaunchSettings(
        Action action,
        int ranks,
        List<HostSlots> hosts,
        Optional<Integer> sshPort,
        Optional<String> sshIdentity,
        Optional<String> interfaces,
        Optional<String> outputDirectory,
        List<String> mpiArguments,
        boolean verbose,
        List<String> command) {

    enum Action {
        RUN,
        DRY_RUN,
        CHECK_BUILD,
        VERSION,
        HELP
    }
}
