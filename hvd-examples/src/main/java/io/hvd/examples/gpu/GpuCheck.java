package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ObjectCodec;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.transport.nccl.report.GpuReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * Checks the GPU part of hvd on a machine that has GPUs: the GPU of each rank (G1), the collectives on
 * GPUs against those on the host, by NCCL (G2) or without it (G3), the kernels (G4), the times of collectives (G7), and,
 * if the flags name it, those of an allreduce beside LibTorch's own (G9). Start it under mpirun with as many ranks as
 * there are GPUs; with {@code --more-ranks-than-gpus} it passes if hvd refuses the job, and with {@code --rank-dies} if
 * the ranks that survive say who has died. With {@code --cpu} it measures collectives of tensors on the CPU (G7, G9).
 *
 * <p>Rank 0 prints the table of versions, one {@code CHECK} line per check and a {@code RESULT} line. The exit code is
 * 1 if a check failed, 2 if a check could not be run, for instance without a GPU, otherwise 0.
 */
public final class GpuCheck implements Example {
    private static final int FAILED = 1;
    private static final int NOT_RUN = 2;
    private static final String EXPECT_REFUSAL = "more-ranks-than-gpus";
    private static final String ONLY = "only";
    private static final String VERSIONS = "versions";
    private static final Set<String> FORMS = Set.of("table", "json");
    private static final String QUICK = "quick";
    private static final String CPU = "cpu";
    private static final Set<String> ON_CPU = Set.of("G7", BesideLibTorch.NAME);
    private static final String RANK_DIES = "rank-dies";

    @Override
    public String name() {
        return "gpu-check";
    }

    @Override
    public String summary() {
        return "checks GPUs and NCCL, one rank per GPU; trains nothing";
    }

    @Override
    public Options flags() {
        Options flags = new Options();
        SweepPlan.addTo(flags);
        return flags.addOption(null, ONLY, true, "run only these checks, such as G1,G4")
                .addOption(null, VERSIONS, true, "only print the table of versions, as \"table\" or \"json\"")
                .addOption(null, EXPECT_REFUSAL, false, "pass only if hvd refuses more ranks than there are GPUs")
                .addOption(null, CPU, false, "with --only G7 or G9: measure tensors on the CPU, which needs no GPU")
                .addOption(null, RANK_DIES, false, "end the last rank in the middle of an allreduce")
                .addOption(
                        null, QUICK, false, "use small tensors only, which shows whether it works but not its speed");
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.leftOut("it checks GPUs and trains nothing, see gpu-check.sh"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        CheckChoice choice = CheckChoice.of(line.getOptionValue(ONLY));
        String form = line.getOptionValue(VERSIONS);
        if (form != null && !FORMS.contains(form)) {
            throw new ParseException("--" + VERSIONS + " is \"table\" or \"json\", not \"" + form + "\"");
        }
        if (line.hasOption(CPU) && !ON_CPU.contains(line.getOptionValue(ONLY, ""))) {
            throw new ParseException("--" + CPU + " goes with --" + ONLY + " G7 or G9, the other checks need a GPU");
        }
        SweepPlan sweep = SweepPlan.of(line, line.hasOption(QUICK));
        return hvd -> form != null ? versions(hvd, form) : run(hvd, choice, line, sweep);
    }

    private static int versions(HvdContext hvd, String form) {
        GpuReport report = GpuReport.ofThisProcess();
        if (hvd.rank() == 0) {
            System.out.print(form.equals("json") ? report.json() + "\n" : report.text());
        }
        return report.gpus() > 0 ? 0 : NOT_RUN;
    }

    @Override
    public Optional<String> whyNoThreads() {
        return Optional.of("each rank needs a process with a GPU of its own; start one process per GPU under mpirun");
    }

    /** Allows process sets, because one of the checks makes one. */
    @Override
    public InitOptions joining(CommandLine line) {
        return InitOptions.standard().withDynamicProcessSets();
    }

    /** Reports that the job was refused, as expected or not. */
    @Override
    public int refused(CommandLine line, HvdException why) {
        List<CheckLine> lines = linesOfRefusal(line, why, System.getenv("HVD_BACKEND"));
        report(lines, 0);
        return exitCode(lines);
    }

    /** Names the checks as the job would have named them, had it begun. */
    static List<CheckLine> linesOfRefusal(CommandLine line, HvdException why, String backend) {
        Outcome outcome = outcomeOfRefusal(why.id(), line.hasOption(EXPECT_REFUSAL));
        return Stream.of(refusedChecks(line, backend).split(","))
                .map(check -> new CheckLine(check, outcome, why.getMessage()))
                .toList();
    }

    private static String refusedChecks(CommandLine line, String backend) {
        if (line.hasOption(RANK_DIES)) {
            return DyingRank.check("nccl".equalsIgnoreCase(backend));
        }
        return line.getOptionValue(ONLY, "G1");
    }

    private static Outcome outcomeOfRefusal(ErrorId id, boolean expected) {
        if (id == ErrorId.UNSUPPORTED) {
            return Outcome.NOT_RUN;
        }
        return expected && id == ErrorId.NO_DEVICE ? Outcome.PASS : Outcome.FAIL;
    }

    private static int exitCode(List<CheckLine> lines) {
        if (count(lines, Outcome.FAIL) > 0) {
            return FAILED;
        }
        return count(lines, Outcome.NOT_RUN) > 0 ? NOT_RUN : 0;
    }

    private static int run(HvdContext hvd, CheckChoice choice, CommandLine line, SweepPlan sweep)
            throws ParseException {
        if (line.hasOption(CPU)) {
            return conclude(
                    hvd,
                    List.of(
                            line.getOptionValue(ONLY).equals(BesideLibTorch.NAME)
                                    ? BesideLibTorch.check(hvd, sweep, true)
                                    : CollectiveSweep.check(hvd, sweep, true)));
        }
        if (hvd.rank() == 0) {
            System.out.print(GpuReport.ofThisProcess().text());
        }
        Extent extent = line.hasOption(QUICK) ? Extent.QUICK : Extent.FULL;
        List<CheckLine> lines = new ArrayList<>();
        List<String> devices =
                fromAllRanks(hvd, "gpu_check.device", hvd.device().toString());
        if (devices.contains("cpu")) {
            String why = "no GPU: the ranks on " + hvd.hosts() + " have " + devices + ", back end " + hvd.backend();
            lines.addAll(choice.notRun(why));
        } else if (line.hasOption(RANK_DIES)) {
            requireSeveral(hvd);
            throw DyingRank.run(hvd, extent.dyingBytes());
        } else if (line.hasOption(EXPECT_REFUSAL)) {
            lines.add(new CheckLine("G1", Outcome.FAIL, hvd.localSize() + " ranks on this host were not refused"));
        } else {
            lines.addAll(choice.run(hvd, extent, sweep));
        }
        return conclude(hvd, lines);
    }

    private static void requireSeveral(HvdContext hvd) throws ParseException {
        if (hvd.size() == 1) {
            throw new ParseException("--" + RANK_DIES + " needs 2 ranks or more, this job has 1");
        }
    }

    private static int conclude(HvdContext hvd, List<CheckLine> lines) {
        List<CheckLine> all = worstOfAllRanks(hvd, lines);
        if (hvd.rank() == 0) {
            report(all, hvd.size());
        }
        return exitCode(all);
    }

    /** The texts of all ranks, by rank. */
    public static List<String> fromAllRanks(HvdContext hvd, String name, String mine) {
        List<String> all = new ArrayList<>();
        for (int rank = 0; rank < hvd.size(); rank++) {
            all.add(hvd.broadcastObject(name + "." + rank, mine, ObjectCodec.utf8(), rank));
        }
        return all;
    }

    /** The worst outcome of each check on any rank; all ranks have run the same checks. */
    private static List<CheckLine> worstOfAllRanks(HvdContext hvd, List<CheckLine> mine) {
        List<CheckLine> worst = new ArrayList<>();
        for (CheckLine line : mine) {
            fromAllRanks(hvd, "gpu_check." + line.name(), line.encode()).stream()
                    .map(CheckLine::decode)
                    .reduce(CheckLine::worse)
                    .ifPresent(worst::add);
        }
        return worst;
    }

    private static void report(List<CheckLine> lines, int ranks) {
        lines.forEach(System.out::println);
        System.out.println("RESULT gpu_check=" + verdict(lines) + " ranks=" + ranks + " passed="
                + count(lines, Outcome.PASS) + " failed=" + count(lines, Outcome.FAIL) + " not_run="
                + count(lines, Outcome.NOT_RUN));
    }

    /** The verdict over all checks, which is pass only if all checks were run and have passed. */
    private static String verdict(List<CheckLine> lines) {
        if (count(lines, Outcome.FAIL) > 0) {
            return "fail";
        }
        return count(lines, Outcome.NOT_RUN) > 0 ? "not-run" : "pass";
    }

    private static long count(List<CheckLine> lines, Outcome outcome) {
        return lines.stream().filter(line -> line.outcome() == outcome).count();
    }
}
