package io.hvd.launch;

/** What is asked for together with what there is: all that the mpirun line depends on. */
record Job(LaunchSettings settings, Machine machine, MpiVersion version) {

    /** How many ranks land on this machine: mpirun fills the hosts in their order. 0 if others have settled the hosts. */
    int ranksHere() {
        if (settings.hosts().isEmpty()) {
            return machine.allocation().isPresent() ? 0 : settings.ranks();
        }
        int left = settings.ranks();
        int here = 0;
        for (HostSlots host : settings.hosts()) {
            int placed = Math.min(left, host.slots());
            here += machine.is(host.host()) ? placed : 0;
            left -= placed;
        }
        return here;
    }

    boolean allRanksHere() {
        return ranksHere() == settings.ranks();
    }

    UserChoices choices() {
        return new UserChoices(settings.mpiArguments(), machine.environment());
    }
}
