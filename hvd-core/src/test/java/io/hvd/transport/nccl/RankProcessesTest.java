package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.hvd.transport.nccl.natives.NcclPresence;
import io.hvd.transport.nccl.natives.NcclVariables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RankProcessesTest {
    @TempDir
    Path folder;

    /** Ranks 0 and 2 are threads of one process, as are 1 and 3; rank 4 has a process for itself. */
    private final RankProcesses processes = RankProcesses.of(
            List.of(rank("m", "10"), rank("m", "11"), rank("m", "10"), rank("m", "11"), rank("other machine", "10")));

    private static NcclFacts rank(String machine, String process) {
        return new NcclFacts(machine, NcclVariables.NONE, process, List.of(), "2.18.5", "", "", "FLAT", "");
    }

    @Test
    void processesOfOneNumberOnTwoMachinesAreTwo() {
        assertThat(processes.homes()).containsExactly(0, 1, 0, 1, 4);
        assertThat(processes.isShared(2)).isTrue();
        assertThat(processes.isShared(4)).isFalse();
    }

    @Test
    void processesOfOneNumberInTwoContainersOfAMachineAreTwo() throws IOException {
        Path one = Files.createSymbolicLink(folder.resolve("one"), Path.of("pid:[4026531836]"));
        Path other = Files.createSymbolicLink(folder.resolve("other"), Path.of("pid:[4026532841]"));

        RankProcesses found = RankProcesses.of(List.of(
                rank("m", NcclPresence.process(7, one)),
                rank("m", NcclPresence.process(7, other)),
                rank("m", NcclPresence.process(7, one))));

        assertThat(found.homes()).containsExactly(0, 1, 0);
    }

    @Test
    void whereTheNamespaceCannotBeReadTheNumberTellsProcesses() {
        assertThat(NcclPresence.process(7, folder.resolve("none"))).isEqualTo("7");
    }

    @Test
    void thisProcessNamesItsNamespace() {
        Path link = Path.of("/proc/self/ns/pid");
        assumeThat(Files.isReadable(link)).isTrue();
        assertThat(new NcclPresence(null, List.of(), "no GPU").process())
                .matches(ProcessHandle.current().pid() + " in pid:\\[\\d+]");
    }

    @Test
    void inASetOfWholeProcessesThoseOfOneProcessMeet() {
        List<Integer> all = List.of(0, 1, 2, 3, 4);
        assertThat(processes.meeting(0, all)).containsExactly(0, 2);
        assertThat(processes.meeting(3, all)).containsExactly(1, 3);
        assertThat(processes.meeting(4, all)).isEmpty();
        assertThat(processes.meeting(2, List.of(4, 2, 0))).containsExactly(2, 0);
    }

    @Test
    void allMembersMeetIfTheSetLeavesOutAThreadOfAProcess() {
        List<Integer> crossing = List.of(3, 0, 2);
        for (int rank : crossing) {
            assertThat(processes.meeting(rank, crossing)).isEqualTo(crossing);
        }
        assertThat(processes.meeting(4, List.of(0, 4))).containsExactly(0, 4);
    }

    @Test
    void nobodyMeetsHimself() {
        assertThat(processes.meeting(0, List.of(0))).isEmpty();
        assertThat(processes.meeting(4, List.of(4))).isEmpty();
    }
}
