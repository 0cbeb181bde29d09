package io.hvd.contract.explorer;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random programs with ranks as threads. */
class ExplorerTest {
    private static final List<Composition> TEAMS =
            IntStream.rangeClosed(1, 5).mapToObj(Composition::threads).toList();

    @Test
    void programsOfThreadsEqualThePlainLoopAndStallForNobody() {
        ExplorerSettings.explore(TEAMS, team -> new ThreadTeam(team.ranks()), ExplorerSettings.everyday(0.3, 3, 6, 1));
    }

    @Test
    @Tag("long")
    void theyDoForLong() {
        ExplorerSettings.explore(TEAMS, team -> new ThreadTeam(team.ranks()), ExplorerSettings.forLong(0.3, 8, 1));
    }
}
