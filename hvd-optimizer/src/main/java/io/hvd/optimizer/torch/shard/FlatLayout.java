package io.hvd.optimizer.torch.shard;

import io.hvd.tensor.Shape;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Where the parameters of a unit lie in its flat parameter, and which part of that each rank keeps:
 * <pre>
 *   | weight        | bias  | weight              |padding|
 *   | shard of rank 0  | shard of rank 1  | shard of rank 2 |
 * </pre>
 * The places of the parameters do not depend on the number of ranks, only the padding does.
 *
 * @param entries in the order of the flat parameter
 * @param elements of the flat parameter without the padding at its end
 */
public record FlatLayout(List<Entry> entries, long elements, int ranks) {
    /** Parameters begin at multiples of 16 bytes in every type, as the matrix kernels of GPUs read. */
    private static final long ALIGNMENT = 8;

    /**
     * One parameter.
     *
     * @param names all names of it in its unit, of which a tied one has several
     * @param offset of its first element
     */
    public record Entry(List<String> names, Shape shape, long offset) {
        public String name() {
            return names.get(0);
        }

        public long elements() {
            return shape.elements();
        }
    }

    /** A run of elements that a rank of before has and a rank of now needs, counted in their shards. */
    public record Overlap(long fromOffset, long toOffset, long elements) {}

    /** @param names of each parameter */
    static FlatLayout of(List<List<String>> names, List<Shape> shapes, int ranks) {
        List<Entry> entries = new ArrayList<>();
        long offset = 0;
        for (int i = 0; i < shapes.size(); i++) {
            entries.add(new Entry(List.copyOf(names.get(i)), shapes.get(i), offset));
            long end = Math.addExact(offset, shapes.get(i).elements());
            offset = Math.addExact(end, Math.floorMod(-end, ALIGNMENT));
        }
        return new FlatLayout(List.copyOf(entries), offset, ranks);
    }

    /** Elements of each rank's shard. */
    public long shard() {
        return shardOf(ranks);
    }

    private long shardOf(int number) {
        return (elements + number - 1) / number;
    }

    /** Elements of the flat parameter with the padding. */
    public long padded() {
        return shard() * ranks;
    }

    /**
     * What a rank takes from the shard that one of another number of ranks had.
     *
     * @return a run of no elements if there is nothing
     */
    public Overlap overlap(int ranksBefore, int rankBefore, int rank) {
        long before = shardOf(ranksBefore);
        long from = Math.max(before * rankBefore, shard() * rank);
        long end = Math.min(elements, Math.min(before * (rankBefore + 1), shard() * (rank + 1)));
        return end <= from
                ? new Overlap(0, 0, 0)
                : new Overlap(from - before * rankBefore, from - shard() * rank, end - from);
    }

    /** Names, shapes and places in words, which are the same on all ranks and for all numbers of ranks. */
    public String words() {
        StringBuilder words = new StringBuilder();
        entries.forEach(entry -> words.append(entry.names)
                .append(entry.shape)
                .append(" at ")
                .append(entry.offset)
                .append("; "));
        return words.toString();
    }

    /** A number that tells layouts apart. */
    public long fingerprint() {
        CRC32C sum = new CRC32C();
        sum.update(words().getBytes(StandardCharsets.UTF_8));
        return sum.getValue();
    }
}
