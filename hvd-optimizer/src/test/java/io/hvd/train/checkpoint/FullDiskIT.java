package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.launch.Horovodrun;
import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Checkpoints on a file system of a few mebibytes, which is mounted in a namespace of its own: as root, or where the system lets
 * a user be root there.
 */
@Tag("long")
class FullDiskIT {
    @TempDir
    Path folder;

    @Test
    void aFullDiskEndsAllRanksWithTheFileAndTheRoomAndTheNextRunGoesOnFromTheLastWholeFile() {
        Job job = Job.run(
                inNamespace("mount -t tmpfs -o size=3500k tmpfs '" + folder + "' && { " + words("train")
                        + "; echo EXIT $?; " + words("resume") + "; echo EXIT $?; ls -A '" + folder + "'; }"),
                Map.of());
        assumeTrue(
                !job.output().contains("unshare failed") && !job.output().contains("mount:"),
                "no file system can be mounted here: " + job.output());

        assertThat(job.output())
                .containsPattern("\\[HVD-502] the checkpoint \\S+\\.safetensors of \\d+ bytes could not be written,"
                        + " its disk has room for \\d+: .*No space left on device")
                .doesNotContain("TRAINED");
        long whole = Long.parseLong(found(job, "step-(\\d{10})\\.safetensors stays and can be resumed"));
        assertThat(job.lines("EXIT ")).as(job.output()).hasSize(2).last().isEqualTo("EXIT 0");
        assertThat(job.lines("EXIT ").get(0)).isNotEqualTo("EXIT 0");
        for (int rank = 0; rank < 2; rank++) {
            assertThat(job.lines("RESUMED rank=" + rank))
                    .as(job.output())
                    .singleElement()
                    .asString()
                    .endsWith(String.format(Locale.ROOT, " step=%d first=-%d.0 last=-%d.0", whole, whole, whole));
        }
        assertThat(job.output()
                        .substring(job.output().lastIndexOf("EXIT 0") + 6)
                        .trim()
                        .lines())
                .as("those of a mebibyte that have fitted, and nothing else")
                .hasSize(3)
                .allMatch(name -> name.matches("step-\\d{10}\\.safetensors"));
    }

    private static String found(Job job, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(job.output());
        assertThat(matcher.find()).as(job.output()).isTrue();
        return matcher.group(1);
    }

    private static List<String> inNamespace(String commands) {
        boolean isRoot = System.getProperty("user.name").equals("root");
        return List.of("unshare", isRoot ? "--mount" : "-rm", "sh", "-c", commands);
    }

    private String words(String action) {
        List<String> words = new ArrayList<>(Job.program(Horovodrun.class, "-np", "2"));
        words.addAll(Job.program(FullDiskProgram.class, folder.toString(), action));
        return words.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
    }
}
