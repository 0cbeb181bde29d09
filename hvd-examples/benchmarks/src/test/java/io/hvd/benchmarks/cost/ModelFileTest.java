package io.hvd.benchmarks.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The file says what the model says, and is read again. */
class ModelFileTest {
    private static final CostModel MODEL = Made.model(
            Made.curve(Algorithm.SHARED_MEMORY, Form.FEW_BYTES, new JobShape(4, 1), new JobShape(2, 1)),
            Made.curve(Algorithm.MPI, Form.MANY_BYTES, new JobShape(4, 2)));

    @Test
    void itHasTheHostAndEveryNumberOfEachPieceToTheLastBit(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("model.json");

        ModelFile.write(MODEL, file);

        JsonObject root = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        assertThat(root.get("calibratedOn").getAsString()).isEqualTo("made-up");
        assertThat(root.get("cores").getAsInt()).isEqualTo(4);
        assertThat(root.get("coresShared").getAsBoolean()).isFalse();
        assertThat(root.get("gammaSecondsPerByte").getAsDouble()).isEqualTo(1e-10);
        assertThat(root.get("linkBytesPerSecond").isJsonNull()).isTrue();
        JsonObject algorithms = root.getAsJsonObject("algorithms");
        assertThat(algorithms.keySet()).containsExactly("shared-memory", "mpi");
        assertThat(algorithms.getAsJsonObject("shared-memory").get("ranksByHosts"))
                .hasToString("[\"2x1\",\"4x1\"]");
        assertThat(algorithms.getAsJsonObject("mpi").get("pieces"))
                .hasToString("[{\"form\":\"MANY_BYTES\",\"upToBytes\":9223372036854775807,"
                        + "\"insideAlphaSeconds\":1.0E-6,\"insideBetaSecondsPerByte\":2.0E-10,"
                        + "\"crowdedSeconds\":2.0E-5,"
                        + "\"betweenAlphaSeconds\":5.0E-5,\"betweenBetaSecondsPerByte\":8.0E-9}]");
    }

    @Test
    void theModelThatIsReadIsTheOneThatWasWritten(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("model.json");
        for (CostModel model : List.of(MODEL, MODEL.withLink(23.9e6).withOwnCores(8))) {
            ModelFile.write(model, file);

            assertThat(ModelFile.read(file)).isEqualTo(model);
        }
    }

    @Test
    void aFileThatIsNotThereIsNamed(@TempDir Path folder) {
        assertThatThrownBy(() -> ModelFile.read(folder.resolve("none.json")))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("there is no model at " + folder.resolve("none.json"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nonsense",
                "[]",
                "{}",
                "{\"format\":\"hvd-cost-model-1\"}",
                "{\"format\":\"hvd-cost-model-2\"}"
            })
    void anotherFileIsRefused(String text, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("other.json"), text);

        assertThatThrownBy(() -> ModelFile.read(file))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "other.json", "hvd-cost-model-2");
    }
}
