package io.hvd.examples.demo;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.data.SplitMix64;
import io.hvd.examples.Example;
import io.hvd.examples.Flags;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.DataOrigin;
import io.hvd.tensor.Tensor;
import io.hvd.train.MeanMetric;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Evaluates guesses on all ranks in the ways that such programs are written, of which most give a wrong number without an error, and
 * by a metric that is exact over all ranks.
 */
public final class EvaluationExample implements Example {
    private static final String NAME = "distributed-eval";
    /** Guesses about early samples are better, so that the ranks' shares and repeated samples show. */
    private static final double BEST = 0.95;

    private static final double WORST = 0.45;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "the accuracy on all ranks: discarded, of padded samples, as a mean of means, and exact";
    }

    @Override
    public Options flags() {
        return new Options()
                .addOption(Flags.valued("items", "number of samples, default 101"))
                .addOption(Flags.valued("seed", "seed of the guesses, default 42"));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of(""));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        int items = Flags.count(line, "items", 101, 1);
        long seed = Flags.number(line, "seed", 42, Long.MIN_VALUE);
        return hvd -> run(hvd, items, seed);
    }

    private static int run(HvdContext hvd, int items, long seed) throws ParseException {
        if (items < hvd.size()) {
            throw new ParseException(
                    "--items is " + items + ", expected at least one for each of the " + hvd.size() + " ranks");
        }
        Demo demo = new Demo(NAME, hvd);
        Sampler padded = DistributedSampler.builder(items, hvd.size(), hvd.rank())
                .shuffle(false)
                .build();
        Sampler once = new EvalSampler(items, hvd.size(), hvd.rank());

        float own = (float) right(once, items, seed) / once.length();
        Accuracies found = new Accuracies(
                own,
                discarded(hvd, own),
                inPlace(hvd, own),
                exact(hvd, padded, items, seed).mean(),
                exact(hvd, once, items, seed));
        demo.sayAll(String.format(
                Locale.ROOT,
                "rank %d: %d of %d samples, own accuracy %.6f, after an allreduce whose result is discarded %.6f",
                hvd.rank(),
                once.length(),
                items,
                found.own,
                found.discarded));
        found.print(demo, padded.length() * hvd.size() - items);
        return 0;
    }

    /** The same guesses' accuracy in each of the ways. */
    private record Accuracies(float own, float discarded, float inPlace, double ofPadded, MeanMetric.Result exact) {
        void print(Demo demo, int repeated) {
            demo.say("mean of the ranks' accuracies, by allreduceInPlace: %.6f", inPlace);
            demo.say("mean over padded samples, %d of them twice: %.6f", repeated, ofPadded);
            demo.say(
                    "exact over all ranks, by EvalSampler and MeanMetric: %.6f of %d samples",
                    exact.mean(), exact.samples());
            demo.result(
                    "accuracy=%.6f evaluated=%d discarded=%.6f mean_of_means=%.6f padded=%.6f data=%s",
                    exact.mean(), exact.samples(), discarded, inPlace, ofPadded, DataOrigin.DRAWN);
        }
    }

    /** The mistake of many scripts: this allreduce returns its result, and leaves the tensor as it is. */
    @SuppressWarnings("CheckReturnValue")
    private static float discarded(HvdContext hvd, float own) {
        Tensor accuracy = Tensor.of(own);
        hvd.allreduce("discarded", accuracy);
        return accuracy.item();
    }

    /** Averages in place. Ranks with fewer samples count as much as the others. */
    private static float inPlace(HvdContext hvd, float own) {
        Tensor accuracy = Tensor.of(own);
        hvd.allreduceInPlace("in place", accuracy, AllreduceOptions.average());
        return accuracy.item();
    }

    /** Adds up hits and samples of all ranks, and divides once. */
    private static MeanMetric.Result exact(HvdContext hvd, Sampler sampler, int items, long seed) {
        MeanMetric accuracy = new MeanMetric("accuracy");
        accuracy.add(right(sampler, items, seed), sampler.length());
        return accuracy.reduce(hvd);
    }

    private static int right(Sampler sampler, int items, long seed) {
        int right = 0;
        for (int index : sampler.indices()) {
            double skill = BEST - (BEST - WORST) * index / items;
            double luck = new SplitMix64(new SplitMix64(seed + index).nextLong()).nextDouble();
            right += luck < skill ? 1 : 0;
        }
        return right;
    }
}
