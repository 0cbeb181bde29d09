package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.List;
import org.apache.commons.cli.DefaultParser;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The runs of bench-examples.sh, which takes them from the examples. */
class QuickRunsTest {
    static List<Example> examples() {
        return Train.examples();
    }

    @ParameterizedTest
    @MethodSource("examples")
    void everyExampleHasQuickRunsWithFlagsThatItKnowsOrSaysWhyNot(Example example) {
        assertThat(example.quickRuns()).as(example.name()).isNotEmpty().allSatisfy(run -> {
            if (run.leftOut().isEmpty()) {
                String[] flags = run.flags().toArray(String[]::new);
                assertThatCode(() -> example.program(new DefaultParser().parse(example.flags(), flags)))
                        .as(example.name() + " " + run.flags())
                        .doesNotThrowAnyException();
            } else {
                assertThat(run.leftOut()).contains(" ");
            }
        });
    }
}
