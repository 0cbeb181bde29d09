package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.LinkedHashMap;
import java.util.Map;

/** The line with which a training ends, taken apart as a script would. */
public record ResultLine(
        String example,
        int ranks,
        int epochs,
        long steps,
        double loss,
        double accuracy,
        double samplesPerSecond,
        double overlap) {

    private static final String START = "RESULT ";

    /** Of a job that must have ended well, with this as the last line of its output and as the only one of its kind. */
    public static ResultLine of(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(START)).as(job.output()).hasSize(1);
        String line = job.output().lines().reduce((first, second) -> second).orElseThrow();
        assertThat(line).startsWith(START);
        return parse(line.substring(START.length()));
    }

    private static ResultLine parse(String text) {
        Map<String, String> fields = new LinkedHashMap<>();
        for (String field : text.split(" ")) {
            String[] pair = field.split("=", 2);
            fields.put(pair[0], pair[1]);
        }
        assertThat(fields)
                .containsOnlyKeys(
                        "example", "ranks", "epochs", "steps", "loss", "accuracy", "samples_per_second", "overlap");
        return new ResultLine(
                fields.get("example"),
                Integer.parseInt(fields.get("ranks")),
                Integer.parseInt(fields.get("epochs")),
                Long.parseLong(fields.get("steps")),
                Double.parseDouble(fields.get("loss")),
                Double.parseDouble(fields.get("accuracy")),
                Double.parseDouble(fields.get("samples_per_second")),
                Double.parseDouble(fields.get("overlap")));
    }
}
