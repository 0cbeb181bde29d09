package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.ResultLine;
import io.hvd.examples.TrainJar;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The trainings of gpu-check's G8, for two steps on a CPU: a flag that train.jar does not know would cost minutes on a GPU. */
class GpuCheckTrainingsIT {
    private static final Path SCRIPT = Path.of("..", "mpirun-scripts", "gpu-check.sh");
    private static final Pattern NAMES = Pattern.compile("^torch_examples=\\((.+)\\)$", Pattern.MULTILINE);
    private static final Pattern TABLE =
            Pattern.compile("^declare -A training=\\(\n(.+?)^\\)$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern ROW = Pattern.compile("\\[([\\w-]+)\\]='(.*)'");
    /** With this behind its name an example is autocast, or its model shared out; train.jar knows it without. */
    private static final String HOW = "-(amp|sharded)$";

    private static List<String> names() throws IOException {
        return List.of(onlyMatch(NAMES).split(" "));
    }

    private static Map<String, String> flags() throws IOException {
        return ROW.matcher(onlyMatch(TABLE))
                .results()
                .collect(Collectors.toMap(row -> row.group(1), row -> row.group(2)));
    }

    private static String onlyMatch(Pattern pattern) throws IOException {
        List<String> found = pattern.matcher(Files.readString(SCRIPT))
                .results()
                .map(match -> match.group(1))
                .toList();
        assertThat(found).as(pattern.pattern()).hasSize(1);
        return found.get(0);
    }

    @Test
    void everyTrainingHasItsFlags() throws IOException {
        assertThat(flags().keySet()).isNotEmpty().containsExactlyInAnyOrderElementsOf(names());
    }

    @ParameterizedTest
    @MethodSource("names")
    @Tag("long")
    void twoStepsOnACpuEndWithAnAccuracy(String name) throws IOException {
        String example = name.replaceFirst(HOW, "");
        List<String> words = new ArrayList<>(List.of(example));
        words.addAll(List.of(flags().get(name).split(" ")));
        words.addAll(List.of("--max-steps", "2"));

        ResultLine result = ResultLine.of(TrainJar.horovodrun(1, words.toArray(String[]::new)));

        assertThat(result.example()).isEqualTo(example);
        assertThat(result.steps()).isEqualTo(2);
        assertThat(result.accuracy()).isBetween(0.0, 1.0);
    }
}
