package io.hvd.launch.contract;

import io.hvd.contract.explorer.Composition;
import io.hvd.contract.explorer.Composition.Way;
import io.hvd.contract.explorer.ExplorerRank;
import io.hvd.contract.explorer.ExplorerSettings;
import io.hvd.contract.explorer.JobTeam;
import io.hvd.launch.Horovodrun;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random programs on two hosts: network namespaces of this machine, which have one clock. */
@Tag("long")
class ExplorerHostsIT {
    private static final List<Composition> TEAMS = List.of(
            Composition.processes(2).onHosts(2),
            Composition.processes(2, Way.MEMORY_AND_TCP).onHosts(2),
            Composition.processes(4).onHosts(2),
            Composition.threadsOfProcesses(2, 2).onHosts(2),
            Composition.processes(3).onHosts(2),
            Composition.processes(4, Way.MEMORY_AND_TCP).onHosts(2),
            Composition.processes(3, Way.TCP).onHosts(2));

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void programsOfTwoHostsEqualThePlainLoopAndStallForNobody() {
        ExplorerSettings.explore(
                TEAMS, team -> new JobTeam(team, ExplorerHostsIT::start), ExplorerSettings.forLong(0.2, 2, 4));
    }

    /** The first host has one process more where they do not go up. */
    private static Job start(Composition team, long limitSeconds, Map<String, String> settings, String... args) {
        int second = team.processes() / 2;
        List<String> words =
                new ArrayList<>(Job.program(Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key()));
        if (team.isWithoutMpi()) {
            words.add("--gloo");
        }
        words.addAll(List.of("-np", String.valueOf(team.processes())));
        words.addAll(List.of("-H", "node-a:" + (team.processes() - second) + ",node-b:" + second));
        words.addAll(Job.program(ExplorerRank.class, args));
        Map<String, String> environment = new HashMap<>(settings);
        environment.put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        return Job.run(hosts.on("node-a", words), environment, limitSeconds);
    }
}
