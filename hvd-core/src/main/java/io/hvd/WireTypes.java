package io.hvd;

import io.hvd.log.HvdLogger;
import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The types in which the tensors of a process set travel: as the program asks, and for {@link Compression#AUTO}
 * compressed between hosts and uncompressed on one. Every member comes to the same answer by itself.
 */
final class WireTypes {
    private static final HvdLogger LOG = HvdLogger.of(WireTypes.class);

    private static final int JDK_WITH_FLOAT16 = 20;

    private final int hosts;
    /** Whether this rank is the one that speaks for the set. */
    private final boolean speaks;
    /** The last line that was logged; null before the first one. */
    private final AtomicReference<Compression> said = new AtomicReference<>();

    WireTypes(Topology topology, List<Integer> ranks) {
        this.hosts = (int) ranks.stream().map(topology.nodes()::get).distinct().count();
        this.speaks = ranks.size() > 1 && ranks.get(0) == topology.rank();
    }

    /** The type for a tensor whose compression is asked for. */
    DType of(Tensor tensor, Compression asked) {
        DType own = tensor.dtype();
        DType compressed = asked.wireFor(own);
        if (compressed == own) {
            return own;
        }
        if (speaks && said.get() != asked) {
            say(asked, compressed, tensor.device().isCpu());
        }
        return asked == Compression.AUTO && hosts == 1 ? own : compressed;
    }

    /** The figures of docs/records/benchmarks.md with 2 ranks. */
    private static String cost(DType compressed) {
        String large = "on the machine of docs/records/benchmarks.md large tensors take ";
        if (compressed == DType.BFLOAT16) {
            return large + "about twice as long as in float32";
        }
        return Runtime.version().feature() >= JDK_WITH_FLOAT16
                ? large + "about 1.4 times as long as in float32"
                : large + "almost twice as long as in float32, and about 1.4 times with JDK " + JDK_WITH_FLOAT16
                        + " or newer, which has instructions for float16";
    }

    private void say(Compression asked, DType compressed, boolean onCpu) {
        said.set(asked);
        if (asked == Compression.AUTO) {
            LOG.notice(
                    "Compression.AUTO: tensors travel {}",
                    hosts == 1
                            ? "as they are between ranks that are all on one host, where converting takes longer than it"
                                    + " saves"
                            : "as " + compressed + " between " + hosts + " hosts");
        } else if (hosts == 1 && onCpu) {
            LOG.notice(
                    "Compression.{} between ranks that are all on one host saves no time: {}. Compression.AUTO compresses"
                            + " between hosts only",
                    asked,
                    cost(compressed));
        }
    }
}
