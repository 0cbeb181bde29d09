package io.hvd.launch.line;

import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.words.Argument;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Flags for the JVMs of ranks that share a host's cores. Each JVM would start as many threads for garbage collection and
 * compilation as if it had the host to itself. The numbers are those that HotSpot itself takes on a machine with a rank's
 * share of the cores; what a program sees as its number of processors stays as it is. A rank without a core of its own for the
 * JIT compilers compiles a method when it has run {@link #COMPILE_SCALE} times as often as usual, because compilation would
 * delay its first step.
 */
final class JvmFlags {

    private static final Pattern COLLECTOR =
            Pattern.compile("-XX:[+-]Use\\w*GC|-XX:(Parallel|Conc)GCThreads=.*|-Xconcgc|-Xincgc");
    private static final Pattern COMPILER = Pattern.compile(
            "-XX:CICompilerCount.*|-Xint|-Xcomp|-XX:[+-](TieredCompilation|CICompilerCountPerCPU)|-XX:Tier.*|-XX:CompileThreshold.*|-XX:.*JVMCI.*");
    private static final String PROCESSORS = "-XX:ActiveProcessorCount=";

    /** Factor of HotSpot's thresholds for the compilation of a method. */
    private static final int COMPILE_SCALE = 8;

    /** The processors from which on HotSpot collects with five eighths of the further ones. */
    private static final int ALL_COLLECT = 8;

    private JvmFlags() {}

    /** Each flag with its reason; none where the ranks' shares are not known, or the user has decided. */
    static List<Argument> of(JobFacts job, JavaLine java) {
        int ranks = job.settings().ranks();
        boolean decided = !job.settings().java().flags()
                || job.settings().words().binding().isPresent()
                || java.readsArguments()
                || java.has(flag -> flag.startsWith(PROCESSORS));
        return ranks < 2 || !job.allRanksHere() || decided
                ? List.of()
                : of(ranks, job.machine().cores(), java);
    }

    private static List<Argument> of(int ranks, int cores, JavaLine java) {
        int share = Math.max(1, cores / ranks);
        String shared = ranks + " ranks share " + cores + (cores == 1 ? " core" : " cores");
        List<Argument> flags = new ArrayList<>();
        if (!java.has(COLLECTOR.asMatchPredicate())) {
            flags.add(
                    share == 1
                            ? Argument.of(
                                    shared + ": no threads of its own for the garbage collector", "-XX:+UseSerialGC")
                            : Argument.of(
                                    shared + ": the garbage collector's threads",
                                    "-XX:ParallelGCThreads=" + collectorThreads(share)));
        }
        if (!java.has(COMPILER.asMatchPredicate())) {
            flags.add(
                    share == 1
                            ? Argument.of(
                                    shared + ": less is compiled before the first step",
                                    "-XX:CompileThresholdScaling=" + COMPILE_SCALE)
                            : Argument.of(
                                    shared + ": the JIT compilers' threads",
                                    "-XX:CICompilerCount=" + compilerThreads(share)));
        }
        return flags;
    }

    static int collectorThreads(int processors) {
        return processors <= ALL_COLLECT ? processors : ALL_COLLECT + (processors - ALL_COLLECT) * 5 / 8;
    }

    /** HotSpot's formula for tiered compilation: log2(n) log2(log2(n)) 3/2, and at least 2. */
    static int compilerThreads(int processors) {
        int log = log2(processors);
        return Math.max(2, log * log2(Math.max(1, log)) * 3 / 2);
    }

    private static int log2(int number) {
        return Integer.SIZE - 1 - Integer.numberOfLeadingZeros(number);
    }
}
