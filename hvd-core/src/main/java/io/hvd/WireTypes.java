package io.hvd;

import io.hvd.config.Setting;
import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The types in which the tensors of a process set travel: compressed as asked, but for tensors in the memory of the
 * one host that has all ranks, which is faster than the conversion. Every member comes to the same answer by itself.
 */
final class WireTypes {
    private static final Logger LOG = LoggerFactory.getLogger(WireTypes.class);

    private final boolean converts;
    /** Whether this rank is the one that speaks for the set, and has not spoken yet. */
    private final AtomicBoolean mustTell;

    /** @param forced whether tensors are compressed on one host too */
    WireTypes(Topology topology, List<Integer> ranks, boolean forced) {
        this.converts = forced || spreadOverHosts(topology, ranks);
        this.mustTell = new AtomicBoolean(ranks.size() > 1 && ranks.get(0) == topology.rank());
    }

    private static boolean spreadOverHosts(Topology topology, List<Integer> ranks) {
        return ranks.stream().map(topology.nodes()::get).distinct().count() > 1;
    }

    /** The type for a tensor whose compression is asked for. */
    DType of(Tensor tensor, Compression asked) {
        DType own = tensor.dtype();
        DType compressed = asked.wireFor(own);
        if (compressed == own || converts || !tensor.device().isCpu()) {
            return compressed;
        }
        if (mustTell.compareAndSet(true, false)) {
            LOG.info(
                    "{} is left out between ranks that are all on one host, where converting takes longer than it"
                            + " saves; {}=1 compresses all the same",
                    asked,
                    Setting.COMPRESS_ON_ONE_HOST.variable());
        }
        return own;
    }
}
