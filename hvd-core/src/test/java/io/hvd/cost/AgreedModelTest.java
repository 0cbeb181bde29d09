package io.hvd.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** All ranks go by rank 0's file. */
class AgreedModelTest {
    private static final CostModel MODEL = Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 2)));

    @TempDir
    private Path folder;

    private Path file;
    /** What rank 0 has told; nothing else is needed of the exchange, and rank 1 comes second. */
    private byte[] told;

    private final Function<byte[], List<byte[]>> rank0 = mine -> {
        told = mine;
        return List.of(mine, new byte[1]);
    };
    private final Function<byte[], List<byte[]>> rank1 = mine -> List.of(told, mine);

    @BeforeEach
    void writeTheModel() throws Exception {
        file = folder.resolve("model.json");
        ModelFile.write(MODEL, file);
    }

    @Test
    void aRankWithoutTheFileGetsRankZeros() {
        assertThat(AgreedModel.of(Optional.of(file), 0, rank0)).contains(MODEL);
        assertThat(AgreedModel.of(Optional.of(folder.resolve("not-here")), 1, rank1))
                .contains(MODEL);
    }

    @Test
    void withoutTheSettingThereIsNone() {
        assertThat(AgreedModel.of(Optional.empty(), 0, rank0)).isEmpty();
        assertThat(AgreedModel.of(Optional.empty(), 1, rank1)).isEmpty();
    }

    @Test
    void whatRankZeroCannotReadAllRanksRefuse() throws Exception {
        Optional<Path> missing = Optional.of(folder.resolve("not-here"));
        for (Function<byte[], List<byte[]>> exchange : List.of(rank0, rank1)) {
            assertThatThrownBy(() -> AgreedModel.of(missing, exchange == rank0 ? 0 : 1, exchange))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("rank 0 cannot read HVD_COST_MODEL=", "not-here", "NoSuchFile");
        }
        Files.writeString(file, "");
        assertThatThrownBy(() -> AgreedModel.of(Optional.of(file), 0, rank0))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("is empty", "bench-model.sh");
    }

    @Test
    void whatIsNoModelAllRanksRefuseWithItsName() throws Exception {
        Files.writeString(file, "{}");
        for (Function<byte[], List<byte[]>> exchange : List.of(rank0, rank1)) {
            assertThatThrownBy(() -> AgreedModel.of(Optional.of(file), exchange == rank0 ? 0 : 1, exchange))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-103", "model.json", "field format");
        }
    }
}
