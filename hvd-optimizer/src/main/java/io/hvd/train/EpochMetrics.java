package io.hvd.train;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Means by name, over the samples of all ranks: every sample counts once, however many of them each rank has. All of them travel
 * together, in the order of their names. A {@link MeanMetric} is one by itself.
 */
public final class EpochMetrics {
    private record Sum(double sum, long samples) {
        Sum plus(Sum other) {
            return new Sum(sum + other.sum, samples + other.samples);
        }
    }

    private final SortedMap<String, Sum> sums = new TreeMap<>();
    /** Whether ranks may lack a metric: the epoch is not over, or a rank has come in the middle of it. */
    private boolean part;

    /** Adds samples of this rank. */
    public void add(String name, double sumOfValues, long samples) {
        sums.merge(name, new Sum(sumOfValues, samples), Sum::plus);
    }

    /** A copy of the sums so far, which does not change any more. */
    public EpochMetrics copy() {
        EpochMetrics copy = new EpochMetrics();
        copy.sums.putAll(sums);
        return copy;
    }

    /**
     * The sums since a {@link #copy} of this epoch was made, for curves within it: {@link #reduce} takes each metric from the ranks
     * that have it, because the others may add it later.
     */
    public EpochMetrics since(EpochMetrics earlier) {
        EpochMetrics since = new EpochMetrics();
        since.part = true;
        sums.forEach((name, now) -> {
            Sum before = earlier.sums.getOrDefault(name, new Sum(0, 0));
            since.add(name, now.sum - before.sum, now.samples - before.samples);
        });
        return since;
    }

    /**
     * Adds the sums that this rank has made in the same epoch before the ranks of an elastic job have changed; all ranks call it, a new one
     * with none. {@link #reduce} then takes each metric from the ranks that have it. What a rank that is lost has added is lost.
     */
    public void resume(EpochMetrics earlier) {
        part = true;
        earlier.sums.forEach((name, sum) -> sums.merge(name, sum, Sum::plus));
    }

    /** This rank's own means, by name, without the other ranks; none of a metric without samples. */
    public SortedMap<String, Double> means() {
        SortedMap<String, Double> means = new TreeMap<>();
        sums.forEach((name, one) -> {
            if (one.samples > 0) {
                means.put(name, one.sum / one.samples);
            }
        });
        return means;
    }

    /** The first name whose sum on this rank is infinite or NaN. */
    Optional<String> notFinite() {
        for (Map.Entry<String, Sum> each : sums.entrySet()) {
            if (!Double.isFinite(each.getValue().sum)) {
                return Optional.of(each.getKey());
            }
        }
        return Optional.empty();
    }

    /**
     * The means over the ranks of a process set, the same to the last bit on all of them; each of them must call it. The sums stay.
     *
     * @throws HvdException on all ranks, if one that has samples lacks a metric that another one has, unless this is {@link #since} a part
     *     of an epoch
     */
    public SortedMap<String, MeanMetric.Result> reduce(ProcessSet ranks) {
        List<SortedMap<String, Sum>> all =
                ranks.allgatherObject("training.metrics", encode(), ObjectCodec.bytes()).stream()
                        .map(EpochMetrics::decode)
                        .toList();
        SortedMap<String, Sum> total = new TreeMap<>();
        all.forEach(rank -> rank.forEach((name, sum) -> total.merge(name, sum, Sum::plus)));
        if (!part) {
            requireComplete(ranks, all, total);
        }
        SortedMap<String, MeanMetric.Result> results = new TreeMap<>();
        total.forEach((name, sum) -> results.put(name, new MeanMetric.Result(sum.sum / sum.samples, sum.samples)));
        return results;
    }

    /** Forgets what was added. */
    public void clear() {
        sums.clear();
        part = false;
    }

    /** A name that is spelt otherwise on one rank would be a mean over that rank alone. */
    private static void requireComplete(ProcessSet ranks, List<SortedMap<String, Sum>> all, Map<String, Sum> total) {
        for (String name : total.keySet()) {
            TreeSet<Integer> lacking = new TreeSet<>();
            for (int rank = 0; rank < all.size(); rank++) {
                if (!all.get(rank).isEmpty() && !all.get(rank).containsKey(name)) {
                    lacking.add(ranks.ranks().get(rank));
                }
            }
            if (!lacking.isEmpty()) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "metric \"" + name + "\" was added on some ranks, but not on ranks " + lacking
                                + ", which have "
                                + all.get(ranks.ranks().indexOf(lacking.first()))
                                        .keySet()
                                + ". Add the same metrics on every rank, or none on one without samples");
            }
        }
    }

    private byte[] encode() {
        List<byte[]> names = new ArrayList<>();
        int bytes = 0;
        for (String name : sums.keySet()) {
            names.add(name.getBytes(StandardCharsets.UTF_8));
            bytes += Integer.BYTES + names.get(names.size() - 1).length + Double.BYTES + Long.BYTES;
        }
        ByteBuffer out = ByteBuffer.allocate(bytes);
        int next = 0;
        for (Sum sum : sums.values()) {
            byte[] name = names.get(next++);
            out.putInt(name.length).put(name).putDouble(sum.sum).putLong(sum.samples);
        }
        return out.array();
    }

    private static SortedMap<String, Sum> decode(byte[] bytes) {
        SortedMap<String, Sum> sums = new TreeMap<>();
        ByteBuffer in = ByteBuffer.wrap(bytes);
        while (in.hasRemaining()) {
            byte[] name = new byte[in.getInt()];
            in.get(name);
            sums.put(new String(name, StandardCharsets.UTF_8), new Sum(in.getDouble(), in.getLong()));
        }
        return sums;
    }
}
