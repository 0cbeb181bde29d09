package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the processes of four ranks need for 50 million parameters and Adam, by the largest resident set that Linux has counted. */
@Tag("long")
class ShardMemoryIT {
    @TempDir
    Path folder;

    private static final Pattern FIGURES = Pattern.compile("startMiB=(\\d+) peakMiB=(\\d+)");

    /**
     * A float, its gradient and two moments take 16 bytes per parameter, 769 MiB, and 192 MiB on each of four ranks: a quarter. The bound leaves half
     * as much again for the units that are there, and for what a JVM needs to compile its classes.
     */
    @Test
    void aRankNeedsLittleMoreThanItsQuarter() {
        long whole = needed("whole");
        long zero3 = needed("zero3");
        long zero2 = needed("zero2");

        System.out.println("MEMORY whole=" + whole + " MiB zero2=" + zero2 + " MiB zero3=" + zero3 + " MiB");
        assertThat(whole).isGreaterThan(769);
        assertThat(zero3).isLessThan(whole * 3 / 8);
        assertThat(zero2).isGreaterThan(zero3).isLessThan(whole);
    }

    /**
     * Of the 577 MiB of parameters and moments that one rank has saved each of four reads a quarter, and copies a quarter when it saves: 288 MiB
     * beside what it needs without checkpoints. The bound leaves half as much again for one unit's moments and the heap.
     */
    @Test
    void aRankThatGoesOnFromACheckpointNeedsNoWholeState() {
        long zero3 = needed("zero3");
        needed(1, "zero3", folder.toString());
        long resumed = needed(4, "zero3", folder.toString());

        System.out.println("MEMORY zero3=" + zero3 + " MiB resumed=" + resumed + " MiB");
        assertThat(resumed - zero3).isLessThan(288 * 3 / 2);
    }

    private static long needed(String mode) {
        return needed(4, mode);
    }

    /** Beyond what a rank has before it makes a model. */
    private static long needed(int ranks, String mode, String... more) {
        List<String> program = Job.program(ShardMemoryProgram.class, mode, "24", "512");
        program.addAll(List.of(more));
        program.add(1, "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"); // JavaCPP's limit is of the heap's size
        program.add(1, "-Xmx128m");
        program.add(1, "-XX:MaxDirectMemorySize=2g");
        Job job = Job.horovodrun(ranks, Map.of("HVD_THREADS_PER_RANK", "1"), program);
        assertThat(job.exitCode()).as(job.output()).isZero();
        if (more.length > 0) {
            assertThat(job.output()).contains("RESUMED step=" + (ranks == 1 ? 0 : 4));
        }
        Matcher found = FIGURES.matcher(job.output());
        assertThat(found.find()).as(job.output()).isTrue();
        return Long.parseLong(found.group(2)) - Long.parseLong(found.group(1));
    }
}
