package io.hvd.data;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns once of a sampler that deals the samples to another number of ranks than there are: some would be left out, or all ranks would
 * train on the same. A process set of the job may have the number too.
 */
final class Dealing {
    private static final Logger LOG = LoggerFactory.getLogger(Dealing.class);

    private final Sampler sampler;
    private boolean looked;

    Dealing(Sampler sampler) {
        this.sampler = sampler;
    }

    /** An epoch begins. */
    void look() {
        if (!looked && sampler.replicas() > 0 && Hvd.isInitialized()) {
            looked = true;
            HvdContext hvd = Hvd.context();
            TreeSet<Integer> sizes = hvd.processSets().values().stream()
                    .map(set -> set.size())
                    .collect(Collectors.toCollection(TreeSet::new));
            boolean isOfOne = sampler.replicas() == 1 && sampler instanceof EvalSampler; // as on the first rank alone
            if (!sizes.contains(sampler.replicas()) && !isOfOne) {
                warn(hvd, sizes);
            }
        }
    }

    private void warn(HvdContext hvd, TreeSet<Integer> sizes) {
        LOG.warn(
                "the {} of {} samples on rank {} was made for {} rank(s), but the job has {}{}: {}. Make it with"
                        + " hvd.size() and hvd.rank(). The epoch begins at {}",
                sampler.getClass().getSimpleName(),
                sampler.datasetSize(),
                hvd.rank(),
                sampler.replicas(),
                hvd.size(),
                sizes.size() == 1 ? "" : " and process sets of " + sizes,
                sampler.replicas() > hvd.size()
                        ? "no rank sees the samples that it deals to the others"
                        : "ranks see the same samples",
                hvd.callerLine());
    }
}
