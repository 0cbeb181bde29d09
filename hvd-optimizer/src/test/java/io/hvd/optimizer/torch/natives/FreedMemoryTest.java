package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.GrowingBlocks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Page faults in processes of their own, since the C library's thresholds belong to the whole process and only rise. */
@Timeout(60)
public class FreedMemoryTest {
    @Test
    void memoryThatWasFreedIsUsedAgain() throws Exception {
        assertThat(faults(Map.of())).isLessThan(GrowingBlocks.PAGES_OF_ALL / 3);
    }

    @Test
    void aThresholdOfTheUsersStays() throws Exception {
        assertThat(faults(Map.of("MALLOC_MMAP_THRESHOLD_", "131072")))
                .isGreaterThan(GrowingBlocks.PAGES_OF_ALL * 9 / 10);
    }

    private static long faults(Map<String, String> variables) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                GrowingBlocks.class.getName());
        builder.environment().keySet().removeIf(name -> name.startsWith("MALLOC_") || name.equals("GLIBC_TUNABLES"));
        builder.environment().putAll(variables);
        Process process = builder.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher faults = Pattern.compile("faults (\\d+)").matcher(output);
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(faults.find()).as(output).isTrue();
        return Long.parseLong(faults.group(1));
    }
}
