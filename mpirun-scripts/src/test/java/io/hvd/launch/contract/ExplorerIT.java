package io.hvd.launch.contract;

import io.hvd.contract.explorer.Composition;
import io.hvd.contract.explorer.Composition.Way;
import io.hvd.contract.explorer.ExplorerSettings;
import io.hvd.contract.explorer.JobTeam;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random programs under real mpirun. */
class ExplorerIT {
    private static final List<Composition> TEAMS = List.of(
            Composition.processes(3),
            Composition.processes(3, Way.MPI),
            Composition.processes(3, Way.TCP),
            Composition.threadsOfProcesses(2, 3),
            Composition.processes(2, Way.MPI),
            Composition.processes(2),
            Composition.threadsOfProcesses(2, 2),
            Composition.processes(4),
            Composition.processes(4, Way.MPI),
            Composition.threadsOfProcesses(3, 2));

    private static final List<Composition> WITHOUT_MPI = List.of(
            Composition.processes(2, Way.TCP),
            Composition.processes(4, Way.MEMORY_AND_TCP),
            Composition.processes(4, Way.TCP),
            Composition.processes(3, Way.TCP),
            Composition.processes(2, Way.MEMORY_AND_TCP));

    /** A few programs of each job, so that several compositions have their turn. */
    @Test
    void programsOfProcessesEqualThePlainLoopAndStallForNobody() {
        ExplorerSettings.explore(TEAMS, JobTeam::here, ExplorerSettings.everyday(0.7, 3, 2, 2));
    }

    @Test
    @Tag("long")
    void theyDoForLong() {
        ExplorerSettings.explore(TEAMS, JobTeam::here, ExplorerSettings.forLong(0.3, 2, 4));
    }

    @Test
    @Tag("long")
    void theyDoForLongWithoutMpi() {
        ExplorerSettings.explore(WITHOUT_MPI, JobTeam::here, ExplorerSettings.forLong(0.2, 2, 4));
    }
}
