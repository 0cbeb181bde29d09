package io.hvd.benchmarks.cost;

/**
 * The work of the slowest rank of an allreduce, how often each of the costs counts, and the bytes on a host's link.
 *
 * <p>With n ranks on h hosts, p of them on each, and B bytes, these messages and bytes travel inside a host:
 *
 * <pre>
 *                        messages       bytes              bytes reduced
 * shared memory, few     1              2 B                (p-1) B               each adds up all stages
 * shared memory, many    2              2 B                (p-1)/p B             reduce-scatter, allgather
 * MPI, few               r(p)           r(p) B             (r(p) + r(h)) B       recursive doubling
 * MPI, many, and ring    2(n-1)         2(n-1)/n B         (n-1)/n B             segmented ring
 * two levels             none: the curve of shared memory is added
 * </pre>
 *
 * and these between hosts, where all ranks of a host share one link:
 *
 * <pre>
 *                        messages       bytes of a rank    bytes on the link
 * MPI, few               r(h)           r(h) B             r(h) p B
 * MPI, many, and ring    2(n-1)         2(n-1)/n B         2(n-1)/n B       one rank of each host sends to another one
 * two levels, B/p small  r(h)           r(h) B/p           r(h) B           each rank its slice
 * two levels             2(h-1)         2(h-1)/h B/p       2(h-1)/h B       the same, of which it reduces (h-1)/h B/p
 * </pre>
 *
 * with r(n) = log2 n rounds, and two more if n is not a power of two. The formulas of recursive doubling and of the
 * ring are those of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in
 * MPICH", 2005, sections 4.4 and 4.5, and P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters
 * of workstations", 2009. hvd's own two send the messages of every turn of {@link Chunks}. Ranks that share cores take
 * turns: bytes and reductions then take longer by the number of ranks per core, and every message waits for a core, which
 * {@code crowded} counts.
 *
 * <p>The link stands still during the first chunk's work only. In two levels p ranks send over one link, so it does so
 * during a p-th of that.
 *
 * @param lead the part of this work in which the link stands still
 */
record Terms(
        double inside,
        double crowded,
        double insideBytes,
        double between,
        double betweenBytes,
        double reducedBytes,
        double wireBytes,
        double lead) {
    static Terms of(Algorithm algorithm, Form form, JobShape shape, double bytes, CalibrationHost host) {
        if (shape.ranks() == 1) {
            return new Terms(0, 0, 0, 0, 0, 0, 0, 1);
        }
        Terms alone =
                switch (algorithm) {
                    case SHARED_MEMORY -> shared(form, shape.perHost(), bytes);
                    case TWO_LEVEL -> twoLevel(shape, bytes);
                    case MPI -> form == Form.FEW_BYTES ? doubling(shape, bytes) : ring(shape, bytes, 1, 1);
                    case RING -> ownRing(shape, bytes);
                };
        return alone.crowdedBy(host.load(shape));
    }

    private static Terms shared(Form form, int ranks, double bytes) {
        return form == Form.FEW_BYTES
                ? new Terms(1, 0, 2 * bytes, 0, 0, (ranks - 1) * bytes, 0, 1)
                : new Terms(2, 0, 2 * bytes, 0, 0, (ranks - 1) * bytes / ranks, 0, 1);
    }

    /** Between the hosts, small slices of the ranks go by MPI_Allreduce, large ones by hvd's ring. */
    private static Terms twoLevel(JobShape shape, double bytes) {
        double hosts = shape.hosts();
        if (bytes / shape.perHost() < Chunks.RING_BYTES) {
            double rounds = rounds(shape.hosts());
            double ofRank = rounds * bytes / shape.perHost();
            return new Terms(0, 0, 0, rounds, ofRank, ofRank, rounds * bytes, 1.0 / shape.perHost());
        }
        Chunks chunks = Chunks.ofTwoLevels(shape, bytes);
        double share = (hosts - 1) / hosts * bytes;
        double ofRank = share / shape.perHost();
        return new Terms(
                0,
                0,
                0,
                2 * (hosts - 1) * chunks.turns(),
                2 * ofRank,
                ofRank,
                2 * share,
                chunks.lead() / shape.perHost());
    }

    private static Terms doubling(JobShape shape, double bytes) {
        double inside = rounds(shape.perHost());
        double between = rounds(shape.hosts());
        return new Terms(
                inside,
                0,
                inside * bytes,
                between,
                between * bytes,
                (inside + between) * bytes,
                between * shape.perHost() * bytes,
                1);
    }

    private static Terms ownRing(JobShape shape, double bytes) {
        Chunks chunks = Chunks.ofRing(shape.ranks(), bytes);
        return ring(shape, bytes, chunks.turns(), chunks.lead());
    }

    /** The terms of a ring, each of whose steps takes as long as the slowest link. */
    private static Terms ring(JobShape shape, double bytes, long turns, double lead) {
        double ranks = shape.ranks();
        double steps = 2 * (ranks - 1);
        double travels = steps / ranks * bytes;
        double reduced = (ranks - 1) / ranks * bytes;
        return shape.hosts() == 1
                ? new Terms(steps * turns, 0, travels, 0, 0, reduced, 0, 1)
                : new Terms(0, 0, shape.perHost() == 1 ? 0 : travels, steps * turns, travels, reduced, travels, lead);
    }

    private static double rounds(int ranks) {
        int whole = 31 - Integer.numberOfLeadingZeros(ranks);
        return Integer.bitCount(ranks) == 1 ? whole : whole + 2;
    }

    private Terms crowdedBy(double load) {
        return load <= 1
                ? this
                : new Terms(
                        inside,
                        (inside + between) * load,
                        insideBytes * load,
                        between,
                        betweenBytes * load,
                        reducedBytes * load,
                        wireBytes,
                        lead);
    }
}
