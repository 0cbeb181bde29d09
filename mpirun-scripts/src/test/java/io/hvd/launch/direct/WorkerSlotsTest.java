package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WorkerSlotsTest {

    @TempDir
    private Path folder;

    private long seconds;

    private WorkerSlots slots(String words) {
        DirectPlan plan = DirectPlanTest.plan(
                Map.of("PATH", "/usr/bin:/bin"),
                Stream.of(words.split(" "), new String[] {"true"})
                        .flatMap(Stream::of)
                        .toArray(String[]::new));
        var slots = new WorkerSlots(
                plan, plan.elastic().orElseThrow(), () -> TimeUnit.SECONDS.toNanos(seconds), Runnable::run);
        plan.ranks().forEach(slots::take);
        return slots;
    }

    private static List<String> hosts(List<PlannedRank> workers) {
        return workers.stream()
                .map(worker -> worker.rank() + " on " + worker.host())
                .toList();
    }

    @Test
    void slotsThatAreFreeFromTheStartAreFilledUpToTheMost() throws Exception {
        WorkerSlots slots = slots("-np 2 --max-np 5 -H a:1,b:4");

        assertThat(hosts(slots.free(2, 3))).containsExactly("2 on b", "3 on b", "4 on b");
        assertThat(slots.free(2, 0)).isEmpty();
    }

    @Test
    void theSlotOfAWorkerThatHasFailedStaysEmptyAndTheOthersOfItsHostGoOn() throws Exception {
        WorkerSlots slots = slots("-np 3 --min-np 1 -H a:1,b:2");

        slots.ended(1, true);
        seconds = 1_000_000;

        assertThat(slots.free(3, 1)).isEmpty();
    }

    @Test
    void aCooldownDoublesWithEachFailureUpToItsMost() throws Exception {
        WorkerSlots slots = slots("-np 2 --min-np 1 -H a:1,b:1 --blacklist-cooldown-range 10 30");

        for (int pause : List.of(10, 20, 30, 30)) {
            slots.ended(1, true);
            seconds += pause - 1;
            assertThat(slots.free(1, 1)).as("before " + pause + " s").isEmpty();
            seconds++;
            List<PlannedRank> again = slots.free(1, 1);
            assertThat(hosts(again)).containsExactly("1 on b");
            slots.take(again.get(0));
        }
    }

    @Test
    void aHostThatHasDisappearedIsTriedAgainWithoutACooldown() throws Exception {
        WorkerSlots slots = slots("-np 2 --min-np 1 -H a:1,b:1");

        slots.hostIsLost(1);
        slots.ended(1, true);
        assertThat(slots.free(2, 1)).isEmpty();
        seconds = 2;

        assertThat(hosts(slots.free(2, 1))).containsExactly("2 on b");
    }

    @Test
    void theScriptIsAskedOnceASecondAndAHostThatItNamesNoLongerGetsNoMore() throws Exception {
        Path list = Files.writeString(folder.resolve("list"), "a:1\n");
        Path script = Files.writeString(folder.resolve("hosts"), "#!/bin/sh\ncat " + list + "\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        WorkerSlots slots = slots("-np 1 --max-np 4 --host-discovery-script " + script);

        Files.writeString(list, "a:1\nb:2\n");
        assertThat(slots.free(1, 3)).isEmpty();
        seconds = 1;
        assertThat(hosts(slots.free(1, 3))).containsExactly("1 on b", "2 on b");

        Files.writeString(list, "a:1\n");
        seconds = 2;
        assertThat(slots.free(1, 3)).isEmpty();
        Files.delete(list);
        seconds = 3;
        assertThat(slots.free(1, 3)).as("a script that fails changes nothing").isEmpty();
    }
}
