package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** The line with which a training ends, taken apart as a script would. */
public record ResultLine(
        String example,
        int ranks,
        int epochs,
        long steps,
        double loss,
        double accuracy,
        OptionalDouble top5,
        OptionalLong evaluated,
        double samplesPerSecond,
        double overlap,
        double exposedMillis,
        String data) {

    private static final String START = "RESULT ";

    /** The fields that an example has besides. */
    private static final Map<String, List<String>> OWN = Map.of(
            "cifar10", List.of("top5", "evaluated", "mode", "devices", "epoch_seconds"),
            "imagenet", List.of("model", "top5", "evaluated", "skipped"),
            "char-lm", List.of("model", "perplexity"),
            "textcnn", List.of("mode", "devices", "epoch_seconds"),
            "gan", List.of("modes", "covered", "evaluated"));

    /** Reads the result of a job that must have ended well, with this as the last line of its output and as the only one of its kind. */
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
        List<String> known = List.of(
                "example",
                "ranks",
                "epochs",
                "steps",
                "loss",
                "accuracy",
                "samples_per_second",
                "overlap",
                "exposed_ms",
                "data");
        known = new ArrayList<>(known);
        known.addAll(OWN.getOrDefault(fields.get("example"), List.of()));
        assertThat(fields.keySet()).containsExactlyInAnyOrderElementsOf(known);
        return new ResultLine(
                fields.get("example"),
                Integer.parseInt(fields.get("ranks")),
                Integer.parseInt(fields.get("epochs")),
                Long.parseLong(fields.get("steps")),
                Double.parseDouble(fields.get("loss")),
                Double.parseDouble(fields.get("accuracy")),
                fields.containsKey("top5")
                        ? OptionalDouble.of(Double.parseDouble(fields.get("top5")))
                        : OptionalDouble.empty(),
                fields.containsKey("evaluated")
                        ? OptionalLong.of(Long.parseLong(fields.get("evaluated")))
                        : OptionalLong.empty(),
                Double.parseDouble(fields.get("samples_per_second")),
                Double.parseDouble(fields.get("overlap")),
                Double.parseDouble(fields.get("exposed_ms")),
                fields.get("data"));
    }
}
