package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the processes of four ranks need for 50 million parameters and Adam, by the largest resident set that Linux has counted. */
@Tag("long")
class ShardMemoryIT {
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

    /** Beyond what a rank has before it makes a model. */
    private static long needed(String mode) {
        List<String> program = Job.program(ShardMemoryProgram.class, mode, "24", "512");
        program.add(1, "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"); // JavaCPP's limit is of the heap's size
        program.add(1, "-Xmx128m");
        Job job = Job.horovodrun(4, Map.of("HVD_THREADS_PER_RANK", "1"), program);
        assertThat(job.exitCode()).as(job.output()).isZero();
        Matcher found = FIGURES.matcher(job.output());
        assertThat(found.find()).as(job.output()).isTrue();
        return Long.parseLong(found.group(2)) - Long.parseLong(found.group(1));
    }
}
