package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The CUDA driver that runs on the CPU takes what is right and refuses what is wrong, so tests on it can fail. */
@Timeout(300)
class CallsOnHostTest {
    private static Job job;

    @BeforeAll
    static void call() {
        job = Job.run(Job.program(CallsOnHost.class), HostCuda.with().environment(1));
        assertThat(job.exitCode()).as(job.output()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"copy of all", "free", "aligned 0", "clear all", "launch"})
    void whatIsRightIsDone(String call) {
        assertThat(answer(call)).isEqualTo("done");
    }

    @ParameterizedTest
    @CsvSource({
        "copy past the end, CUDA_ERROR_INVALID_VALUE",
        "copy from the heap's neighbour, CUDA_ERROR_INVALID_VALUE",
        "copy on a stream that is none, CUDA_ERROR_INVALID_HANDLE",
        "free again, CUDA_ERROR_INVALID_VALUE",
        "clear what is freed, CUDA_ERROR_INVALID_VALUE",
        "clear one too many, CUDA_ERROR_INVALID_VALUE",
        "fill one too many of 1, CUDA_ERROR_INVALID_VALUE",
        "fill one too many of 2, CUDA_ERROR_INVALID_VALUE",
        "fill one too many of 4, CUDA_ERROR_INVALID_VALUE",
        "fill one too many of 8, CUDA_ERROR_INVALID_VALUE",
        "launch of too many threads, CUDA_ERROR_INVALID_VALUE",
        "unknown kernel, CUDA_ERROR_NOT_FOUND",
        "text for PTX, CUDA_ERROR_INVALID_IMAGE",
        "'throwing, unknown kernel', CUDA_ERROR_NOT_FOUND",
        "'throwing, more memory than there is', CUDA_ERROR_OUT_OF_MEMORY",
    })
    void whatIsWrongIsRefused(String call, String error) {
        assertThat(answer(call)).contains("failed: " + error);
        assertThat(job.lines("host GPU: ")).isNotEmpty();
    }

    @ParameterizedTest
    @CsvSource({"1, 1111111111111111", "2, 2211221122112211", "4, 4433221144332211", "8, 8877665544332211"})
    void allElementsAreFilledWhateverTheirWidth(int width, String bytes) {
        assertThat(answer("fill all of " + width)).isEqualTo("done");
        assertThat(answer("filled by " + width + " " + bytes)).isEqualTo("done");
    }

    @Test
    void eventsTellTheTimeBetweenThem() {
        assertThat(answer("time between true")).isEqualTo("done");
        assertThat(answer("time of an event that is not reached")).contains("failed: CUDA_ERROR_NOT_READY");
        assertThat(answer("time of an event that is not recorded")).contains("failed: CUDA_ERROR_INVALID_HANDLE");
        assertThat(answer("time of an event that notes none")).contains("failed: CUDA_ERROR_INVALID_HANDLE");
    }

    @Test
    void aMissingEventShows() {
        assertThat(answer("without an event 0")).isEqualTo("done");
        assertThat(answer("with an event 7")).isEqualTo("done");
    }

    /** Else every wait for the device would end as an error. */
    @Test
    void whatIsNotReachedYetIsNoErrorInAProgramThatLetsJCudaThrow() {
        assertThat(answer("throwing, an event ahead is reached: false")).isEqualTo("done");
        assertThat(answer("throwing, an event behind is reached: true")).isEqualTo("done");
        assertThat(job.lines("throwing, a code without a name ").get(0)).contains("(12345)");
    }

    private static String answer(String call) {
        String start = "CALL " + call + ": ";
        return job.output()
                .lines()
                .filter(line -> line.startsWith(start))
                .map(line -> line.substring(start.length()))
                .findFirst()
                .orElseThrow(() -> new AssertionError(call + "\n" + job.output()));
    }
}
