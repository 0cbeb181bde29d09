package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.commons.cli.ParseException;

/** The checks that a run of gpu-check makes: those that the flags name, or all that this job can make. */
final class CheckChoice {
    /**
     * All checks in the order in which they run. A job makes G2 if its back end is NCCL, else G3, and G9, which needs
     * LibTorch, only if the flags name it.
     */
    static final List<String> ALL = List.of("G1", "G2", "G3", "G4", "G7", BesideLibTorch.NAME);

    private final Set<String> named;

    private CheckChoice(Set<String> named) {
        this.named = named;
    }

    /** @param names the names of checks, such as {@code G1,G4}; null if the flags name none */
    static CheckChoice of(String names) throws ParseException {
        Set<String> named = names == null ? Set.of() : new LinkedHashSet<>(List.of(names.split(",")));
        if (!ALL.containsAll(named)) {
            throw new ParseException("there are the checks " + ALL + ", not \"" + names + "\"");
        }
        return new CheckChoice(named);
    }

    /** A line for each check, if none of them can run for this reason. */
    List<CheckLine> notRun(String why) {
        Set<String> checks = named.isEmpty() ? withCollectives("G2") : named;
        return checks.stream()
                .map(check -> new CheckLine(check, Outcome.NOT_RUN, why))
                .toList();
    }

    List<CheckLine> run(HvdContext hvd, Extent extent, SweepPlan sweep) {
        String shown = hvd.backend().startsWith("nccl ") ? "G2" : "G3";
        List<CheckLine> lines = new ArrayList<>();
        for (String check : named.isEmpty() ? withCollectives(shown) : named) {
            switch (check) {
                case "G1" -> lines.add(GpuPlacement.of(hvd));
                case "G4" -> lines.add(KernelCheck.check(hvd, extent));
                case "G7" -> lines.add(WakeUpTimes.addedTo(CollectiveSweep.check(hvd, sweep, false), hvd));
                case BesideLibTorch.NAME -> lines.add(BesideLibTorch.check(hvd, sweep, false));
                default -> lines.addAll(collectives(check, shown, hvd, extent));
            }
        }
        return lines;
    }

    private static List<CheckLine> collectives(String check, String shown, HvdContext hvd, Extent extent) {
        return check.equals(shown)
                ? GpuCollectives.check(hvd, extent)
                : List.of(new CheckLine(
                        check, Outcome.NOT_RUN, "this job shows " + shown + ", its back end is " + hvd.backend()));
    }

    private static Set<String> withCollectives(String check) {
        return new LinkedHashSet<>(List.of("G1", check, "G4", "G7"));
    }
}
