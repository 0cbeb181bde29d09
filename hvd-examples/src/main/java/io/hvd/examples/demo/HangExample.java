package io.hvd.examples.demo;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.Flags;
import io.hvd.examples.QuickRun;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Hangs, because rank 1 leaves out an allreduce that the other ranks make. hvd ends the job with exit code 1 and a sentence that
 * names rank 1, the call and its line.
 */
public final class HangExample implements Example {
    private static final String NAME = "hang-demo";
    private static final int CULPRIT = 1;
    private static final int LONGEST = 3600;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "rank 1 leaves out an allreduce; the report of the hang names it, and the job ends with exit code 1";
    }

    @Override
    public Options flags() {
        return new Options()
                .addOption(Flags.valued("after", "seconds of waiting after which hvd ends the job, default 5"))
                .addOption(Flags.valued("steps", "steps that all ranks make before, default 3"));
    }

    /** Half of the time goes by before the missing rank is named. */
    @Override
    public InitOptions joining(CommandLine line) throws ParseException {
        int seconds = Flags.count(line, "after", 5, 2);
        if (seconds > LONGEST) {
            throw new ParseException("--after is " + seconds + ", expected at most " + LONGEST + " seconds");
        }
        return InitOptions.standard().withStallTimeout(Duration.ofSeconds(seconds));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--after 3").onAtLeast(2).endingWith(1));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        int steps = Flags.count(line, "steps", 3, 0);
        return hvd -> run(hvd, steps);
    }

    private static int run(HvdContext hvd, int steps) throws ExampleFailure {
        Demo demo = new Demo(NAME, hvd);
        demo.requireRanks(2, "rank " + CULPRIT + " is the one that leaves out a call");
        for (int step = 0; step < steps; step++) {
            averageWeights(hvd);
            averageBias(hvd);
        }
        demo.say("now rank %d leaves out the allreduce \"weights\"; the job ends by itself", CULPRIT);
        if (hvd.rank() != CULPRIT) {
            averageWeights(hvd);
        }
        averageBias(hvd);
        throw new IllegalStateException("the allreduce ended, although rank " + CULPRIT + " has left one out");
    }

    private static void averageWeights(HvdContext hvd) {
        hvd.allreduceInPlace("weights", Tensor.of(hvd.rank(), 1f), AllreduceOptions.average());
    }

    private static void averageBias(HvdContext hvd) {
        hvd.allreduceInPlace("bias", Tensor.of(hvd.rank()), AllreduceOptions.average());
    }
}
