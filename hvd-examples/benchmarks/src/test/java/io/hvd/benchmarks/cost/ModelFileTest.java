package io.hvd.benchmarks.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The file says what the model says, or what is wrong with it. */
class ModelFileTest {
    private static final CostModel MODEL = Made.model(
            Made.curve(Algorithm.SHARED_MEMORY, Form.FEW_BYTES, new JobShape(2, 1), new JobShape(4, 1)),
            Made.curve(Algorithm.MPI, Form.MANY_BYTES, new JobShape(4, 2)));

    @Test
    void whatIsWrittenIsReadAgainToTheLastBit(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("model.json");

        ModelFile.write(MODEL, file);

        assertThat(ModelFile.read(file)).isEqualTo(MODEL);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            "hvd-cost-model-1"       | "xml"      | field format: found "xml", expected one of hvd-cost-model-1
            "cores": 4               | "cores": 0 | field cores: found 0, expected a whole number from 1
            "cores": 4               | "cores": 4.5 | field cores: found 4.5, expected a whole number
            "coresShared": false     | "coresShared": 3 | field coresShared: found 3, expected true or false
            "4x2"                    | "2x4"      | field algorithms.mpi.ranksByHosts[0]: found "2x4", expected at least one host
            "4x2"                    | "many"     | found "many", expected ranks x hosts
            "mpi"                    | "smoke"    | field algorithms: found the algorithm "smoke", expected one of shared-memory, two-level, mpi, ring
            "MANY_BYTES"             | 7          | field algorithms.mpi.pieces[0].form: found 7, expected a text
            "insideAlphaSeconds": 1.0E-6 | "insideAlphaSeconds": "fast" | pieces[0].insideAlphaSeconds: found "fast", expected a finite number
            "insideAlphaSeconds": 1.0E-6 | "insideAlphaSeconds": -1 | found -1, expected a finite number of seconds, at least 0
            "crowdedSeconds"         | "crowd"    | field algorithms.shared-memory.pieces[0].crowdedSeconds: found nothing, expected a value
            9223372036854775807      | 100        | field algorithms.shared-memory.pieces: found pieces up to 100, expected a last one
            """)
    void whatIsWrongIsNamed(String right, String wrong, String message) {
        String text = ModelFile.text(MODEL);
        assertThat(text).contains(right);

        assertThatThrownBy(() -> ModelFile.parse("a/model.json", text.replace(right, wrong)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-103", "cost model a/model.json", message, "bench-model.sh");
    }

    @Test
    void whatIsNoJsonOrNoObjectIsNamedToo() {
        assertThatThrownBy(() -> ModelFile.parse("m", "{\"format\": "))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("cost model m", "no JSON", "expected a JSON object");
        assertThatThrownBy(() -> ModelFile.parse("m", "[]"))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("cost model m", "found []", "an object with format");
    }
}
