package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Drivers, and files that only look like one, through JCuda's own loader: the answer is a sentence and never the end of the JVM. */
@DisabledIf("driverIsLoaded")
@Timeout(300)
class DriverLoadingTest {
    static boolean driverIsLoaded() {
        return CudaPresenceTest.driverIsLoaded();
    }

    @Test
    void theGpusOfADriverAreListedWithNameAndPciId() {
        Job job = look(HostCuda.with().environment(2));

        assertThat(answer(job, "FIRST"))
                .contains("index=0, name=CPU in place of GPU 0, pciId=0000:01:00.0")
                .contains("index=1, name=CPU in place of GPU 1, pciId=0000:02:00.0")
                .contains("missing=]");
        assertThat(answer(job, "SECOND")).contains("index=0").contains("index=1");
    }

    @Test
    void aDriverWithoutGpusShowsNone() {
        Job job = look(HostCuda.with().environment(0));

        assertThat(answer(job, "FIRST")).contains("gpus=[]", "CUDA shows no device to this process");
        assertThat(answer(job, "AGAIN")).contains("gpus=[]", "CUDA shows no device to this process");
    }

    @Test
    void whatTheDriverSaysAboutItsStartIsPassedOn() {
        Map<String, String> environment = HostCuda.with().environment(1);
        environment.put("HOST_CUDA_INIT", "803");

        assertThat(answer(look(environment), "FIRST"))
                .contains("gpus=[]", "cuInit answers CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
    }

    /** A function that is not there is found out at its first call, and that call ends the process. */
    @Test
    void aLibraryWithoutTheDriversFunctionsIsNotCalled() {
        HostCuda empty = HostCuda.withoutFunctions();
        Job job = look(empty.environment(1));

        assertThat(answer(job, "FIRST"))
                .contains("gpus=[]", "is not NVIDIA's driver", "no function cuInit", empty.folder() + "/libcuda.so.1");
        assertThat(answer(job, "AGAIN")).contains("gpus=[]", "is not NVIDIA's driver");
    }

    /** Images of containers have such files, for the driver to be put over them. */
    @Test
    void anEmptyFileInPlaceOfTheDriverIsNamed(@TempDir Path folder) throws Exception {
        Files.createFile(folder.resolve("libcuda.so.1"));
        Job job = look(Map.of("LD_LIBRARY_PATH", folder.toString()));

        assertThat(answer(job, "FIRST")).contains("gpus=[]", "JCuda is not usable", "libcuda.so.1", "file too short");
        assertThat(answer(job, "AGAIN")).contains("gpus=[]", "JCuda is not usable");
    }

    private static Job look(Map<String, String> environment) {
        Job job = Job.run(Job.program(VisibleGpus.class), environment);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(answer(job, "TEMPORARY")).endsWith(System.getProperty("java.io.tmpdir"));
        return job;
    }

    private static String answer(Job job, String word) {
        return job.lines(word + " ").stream().findFirst().orElseThrow(() -> new AssertionError(job.output()));
    }
}
