package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * How a {@link FullyShard} works; the same on all ranks.
 *
 * @param reshardAfterForward whether a unit is freed between its forward and its backward (ZeRO-3), or stays (ZeRO-2)
 * @param prefetch whether the next unit is gathered while one computes, in the order of the last pass; it takes memory for one unit more
 * @param computeType the type in which units are gathered and compute, and gradients travel, as BFloat16; the shards and the optimizer keep the
 *     parameters' own type. Null to compute in that too
 * @param refuseNonFinite whether a step by gradients that are infinite or NaN throws on all ranks
 */
public record FullyShardOptions(
        boolean reshardAfterForward, boolean prefetch, ScalarType computeType, boolean refuseNonFinite) {
    public FullyShardOptions {
        if (computeType != null
                && computeType.value != ScalarType.Float.value
                && computeType.value != ScalarType.Double.value
                && computeType.value != ScalarType.BFloat16.value
                && computeType.value != ScalarType.Half.value) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "computeIn(" + computeType + "): expected BFloat16, Half, Float or Double");
        }
    }

    /** Parameters are there for a unit's forward and backward only. */
    public static FullyShardOptions zero3() {
        return new FullyShardOptions(true, true, null, false);
    }

    /** Parameters stay from a unit's forward to the end of its backward, and are gathered once per pass. */
    public static FullyShardOptions zero2() {
        return new FullyShardOptions(false, true, null, false);
    }

    /** Mixed precision: see {@code computeType}. With Half the loss is not scaled. */
    public FullyShardOptions computeIn(ScalarType type) {
        return new FullyShardOptions(reshardAfterForward, prefetch, type, refuseNonFinite);
    }

    /** Whether the next unit is gathered ahead. */
    public FullyShardOptions withPrefetch(boolean ahead) {
        return new FullyShardOptions(reshardAfterForward, ahead, computeType, refuseNonFinite);
    }

    /** Whether steps by gradients that are not finite are refused. */
    public FullyShardOptions refusingNonFinite(boolean refuses) {
        return new FullyShardOptions(reshardAfterForward, prefetch, computeType, refuses);
    }

    /** The options in words, which the ranks compare. */
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("reshardAfterForward of a FullyShard", String.valueOf(reshardAfterForward));
        settings.put("prefetch of a FullyShard", String.valueOf(prefetch));
        settings.put("computeType of a FullyShard", String.valueOf(computeType));
        settings.put("refuseNonFinite of a FullyShard", String.valueOf(refuseNonFinite));
        return settings;
    }
}
