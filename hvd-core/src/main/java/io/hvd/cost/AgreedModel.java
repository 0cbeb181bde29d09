package io.hvd.cost;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.StartupExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The cost model of a job: rank 0 reads its file, and all ranks go by what it has read, whatever lies at that place on
 * their own hosts. Otherwise one rank might take another way through an allreduce than the rest.
 */
public final class AgreedModel {
    private AgreedModel() {}

    /**
     * All ranks call it together, with a file or without.
     *
     * @param exchange gives every rank everybody's bytes, by rank
     * @return empty if rank 0 has none
     * @throws HvdException on all ranks, if rank 0 cannot read its file or it is no cost model
     */
    public static Optional<CostModel> of(Optional<Path> file, int rank, Function<byte[], List<byte[]>> exchange) {
        String name = file.map(Path::toString).orElse("");
        byte[] none = {};
        byte[] text = StartupExchange.hold(
                        "rank " + rank + " cannot read HVD_COST_MODEL=" + name,
                        () -> rank == 0 && file.isPresent() ? read(file.get()) : none,
                        exchange)
                .get(0);
        return text.length == 0
                ? Optional.empty()
                : Optional.of(ModelFile.parse(name, new String(text, StandardCharsets.UTF_8)));
    }

    private static byte[] read(Path file) throws IOException {
        byte[] text = Files.readAllBytes(file);
        if (text.length == 0) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    "cost model " + file + " is empty, expected what bench-model.sh writes; run it again");
        }
        return text;
    }
}
