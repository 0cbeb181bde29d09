package io.hvd.train.safetensors;

import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;

/**
 * The CRC-32C of each tensor of a checkpoint, as words of its header. Where the checksum of the whole file does not fit, they
 * say which tensors are damaged.
 */
public final class TensorSums {
    /** The keys begin with it, and end with the tensor's name. */
    static final String PREFIX = "crc32c.";

    private static final int PIECE = 1 << 20;

    private final CRC32C sum = new CRC32C();
    private final Map<String, String> digits = new LinkedHashMap<>();

    void begin() {
        sum.reset();
    }

    /** Adds what lies between position and limit, and changes neither. */
    void add(ByteBuffer bytes) {
        sum.update(bytes.duplicate());
    }

    void end(String tensor) {
        digits.put(tensor, String.format(Locale.ROOT, "%08x", sum.getValue()));
    }

    /** The words for these tensors. */
    public static Map<String, String> words(Map<String, Tensor> tensors) {
        TensorSums sums = new TensorSums();
        ByteBuffer piece = CheckpointWriter.piece(PIECE, PIECE);
        Converter converter = new Converter();
        tensors.forEach((name, tensor) -> {
            sums.begin();
            DType type = tensor.dtype();
            int most = PIECE / type.bytes();
            for (long done = 0; done < tensor.elements(); done += most) {
                int run = (int) Math.min(most, tensor.elements() - done);
                converter.pack(tensor, done, run, piece.clear(), 0, type, 1);
                sums.add(piece.position(0).limit(run * type.bytes()));
            }
            sums.end(name);
        });
        Map<String, String> words = new LinkedHashMap<>();
        sums.digits.forEach((name, found) -> words.put(PREFIX + name, found));
        return words;
    }

    /** Whether the header has another sum for a tensor than was found. */
    boolean isOther(String tensor, Map<String, String> words) {
        return !digits.get(tensor).equals(words.getOrDefault(PREFIX + tensor, digits.get(tensor)));
    }

    /** Says where a file whose checksum does not fit is damaged, in a sentence; empty if its header has no such words. */
    String damage(CheckpointHeader header, long dataBegins) {
        if (header.words().keySet().stream().noneMatch(key -> key.startsWith(PREFIX))) {
            return "";
        }
        List<CheckpointHeader.Entry> damaged = header.entries().stream()
                .filter(entry -> !digits.get(entry.name()).equals(header.words().get(PREFIX + entry.name())))
                .toList();
        return damaged.isEmpty()
                ? "Its tensors are whole; the header was changed, which is bytes 0 to " + dataBegins + " of the file. "
                : damaged.stream()
                        .map(entry -> "tensor \"" + entry.name() + "\" (bytes " + (dataBegins + entry.from()) + " to "
                                + (dataBegins + entry.to()) + " of the file)")
                        .collect(Collectors.joining(", ", "Damaged: ", ". "));
    }
}
