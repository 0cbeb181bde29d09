package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Hours of training must not need more memory than minutes. {@code -Dhvd.soakSeconds} says how long, half an hour if not. */
@Tag("long")
class SoakIT {
    private static final long SECONDS = Long.getLong("hvd.soakSeconds", 1800);
    /** The first third is for the JIT and the heap to settle. */
    private static final double GROWTH = 1.10;

    @Test
    void residentMemoryStaysFlatOnFourRanks() {
        Job job = Job.horovodrun(2 * SECONDS + 300, 4, SoakProgram.class, String.valueOf(SECONDS));
        assertThat(job.exitCode()).as(job.output()).isZero();

        List<long[]> reports =
                job.lines("SOAK ").stream().map(SoakIT::kilobytes).toList();
        job.lines("SOAK ").forEach(System.out::println);
        long[] settled = reports.get(reports.size() / 3);
        long[] last = reports.get(reports.size() - 1);
        for (int rank = 0; rank < last.length; rank++) {
            assertThat(last[rank]).as("kilobytes of rank " + rank).isLessThan((long) (settled[rank] * GROWTH));
        }
    }

    private static long[] kilobytes(String line) {
        String list = line.substring(line.indexOf("resident_kb=") + "resident_kb=".length());
        return Arrays.stream(list.split(",")).mapToLong(Long::parseLong).toArray();
    }
}
