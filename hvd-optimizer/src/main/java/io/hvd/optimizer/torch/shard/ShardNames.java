package io.hvd.optimizer.torch.shard;

import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names of the tensors that a rank saves. In the states of several ranks they begin with the rank, as in {@code
 * rank-0-of-4.block.3.flat_param}, so that no two ranks have the same.
 */
final class ShardNames {
    static final String LAYOUT = ".layout";
    static final String MOMENT = ".moment.";
    static final String BUFFER = "buffer.";
    static final String RATE = "learning_rate";

    private static final Pattern OF_RANK = Pattern.compile("rank-([0-9]{1,9})-of-([0-9]{1,9})\\.(.+)", Pattern.DOTALL);

    private ShardNames() {}

    /** Whether a name is that of a flat parameter's shard, its layout or one of its moments. */
    static boolean isOf(String flat, String name) {
        return name.equals(flat) || name.equals(flat + LAYOUT) || name.startsWith(flat + MOMENT);
    }

    /** A name in the states of several ranks, taken apart. */
    record OfRank(int rank, int ranks, String name) {}

    static String ofRank(int rank, int ranks, String name) {
        return "rank-" + rank + "-of-" + ranks + "." + name;
    }

    /** The tensors of a rank by their names in the states of several. */
    static TreeMap<String, Tensor> ofRank(int rank, int ranks, Map<String, Tensor> tensors) {
        TreeMap<String, Tensor> named = new TreeMap<>();
        tensors.forEach((name, tensor) -> named.put(ofRank(rank, ranks, name), tensor));
        return named;
    }

    /** @return empty if it is the name of something else */
    static Optional<OfRank> parse(String name) {
        Matcher parts = OF_RANK.matcher(name);
        if (!parts.matches()) {
            return Optional.empty();
        }
        int rank = Integer.parseInt(parts.group(1));
        int ranks = Integer.parseInt(parts.group(2));
        return rank < ranks ? Optional.of(new OfRank(rank, ranks, parts.group(3))) : Optional.empty();
    }
}
