package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;

/** How a job that was refused names its checks: gpu-check.sh looks for the line of the check that it began. */
class GpuCheckRefusalTest {
    private static List<String> lines(String backend, String... flags) throws ParseException {
        CommandLine line = new DefaultParser().parse(new GpuCheck().flags(), flags);
        HvdException why = new HvdException(ErrorId.NO_DEVICE, "more ranks than GPUs");
        return GpuCheck.linesOfRefusal(line, why, backend).stream()
                .map(CheckLine::toString)
                .map(text -> text.substring(0, text.indexOf(" [")))
                .toList();
    }

    @Test
    void theFlagNamesTheCheck() throws ParseException {
        assertThat(lines("nccl", "--rank-dies")).containsExactly("CHECK G2.rank-dies fail");
        assertThat(lines(null, "--quick", "--rank-dies")).containsExactly("CHECK G3.rank-dies fail");
    }

    @Test
    void otherwiseTheChecksAreThoseThatWereChosen() throws ParseException {
        assertThat(lines("nccl", "--only", "G2,G4")).containsExactly("CHECK G2 fail", "CHECK G4 fail");
        assertThat(lines(null)).containsExactly("CHECK G1 fail");
        assertThat(lines(null, "--more-ranks-than-gpus")).containsExactly("CHECK G1 pass");
    }
}
