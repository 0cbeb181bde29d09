package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.ColdStart;
import io.hvd.testing.Job;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a program with slf4j-simple reads of JavaCPP's comparison of releases. */
@Timeout(400)
final class OpenBlasRemarkIT {

    private static final String REMARK = "do not match";

    @TempDir
    private Path folder;

    @Test
    void theReleasesThatHvdRecommendsGiveNoWarning() {
        assertThat(trained().output()).doesNotContain(REMARK);
    }

    /** With a note of another release before the one in OpenBLAS's jar. */
    @Test
    void anyOtherReleaseIsWarnedOf() throws IOException {
        Path note = folder.resolve("META-INF/maven/org.bytedeco/openblas/pom.properties");
        Files.createDirectories(note.getParent());
        Files.writeString(note, "version=0.3.30-1.5.12\n");

        assertThat(trained().lines(REMARK)).singleElement().asString().contains("0.3.30-1.5.12");
    }

    /** No process has had this class path, so LibTorch is prepared anew, which looks at all presets. */
    private Job trained() {
        List<String> line = Job.program(ColdStart.class, "init");
        int classPath = line.indexOf("-cp") + 1;
        line.set(classPath, folder + File.pathSeparator + line.get(classPath));
        Job job = Job.run(line, Map.of());
        assertThat(job.output()).contains("trained on rank 0");
        return job;
    }
}
