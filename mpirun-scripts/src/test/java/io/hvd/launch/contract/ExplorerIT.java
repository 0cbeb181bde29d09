package io.hvd.launch.contract;

import io.hvd.contract.explorer.Composition;
import io.hvd.contract.explorer.ExplorerSettings;
import io.hvd.contract.explorer.JobTeam;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random programs under real mpirun. */
class ExplorerIT {
    private static final List<Composition> TEAMS = List.of(
            Composition.processes(3),
            Composition.throughMpi(3),
            Composition.threadsOfProcesses(2, 3),
            Composition.throughMpi(2),
            Composition.processes(2),
            Composition.threadsOfProcesses(2, 2),
            Composition.processes(4),
            Composition.throughMpi(4),
            Composition.threadsOfProcesses(3, 2));

    /** A few programs of each job, so that several compositions have their turn. */
    @Test
    void programsOfProcessesEqualThePlainLoopAndStallForNobody() {
        ExplorerSettings.explore(TEAMS, JobTeam::here, ExplorerSettings.everyday(0.7, 3, 2, 2));
    }

    @Test
    @Tag("long")
    void theyDoForLong() {
        ExplorerSettings.explore(TEAMS, JobTeam::here, ExplorerSettings.forLong(0.5, 2, 4));
    }
}
