package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Check G7: the time of collectives by size, as nccl-tests measures it, and whether their results are right. Every
 * call goes through the whole of hvd and is waited for, while nccl-tests queues its calls one behind the other.
 * Allreduce and broadcast work in place; the others make a new tensor for each result.
 *
 * <p>Rank 0 prints each row as soon as it is measured, so that a run that is cut off leaves what it has seen.
 */
final class CollectiveSweep {
    /** The calls after which ranks have stopped negotiating about a tensor. For large ones it makes no difference. */
    private static final int SETTLING_CALLS = 11;

    private static final long LARGEST_TO_SETTLE = 1 << 20;

    private final HvdContext hvd;
    private final SweepPlan plan;
    private final SweepMemory memory;

    private CollectiveSweep(HvdContext hvd, SweepPlan plan, SweepMemory memory) {
        this.hvd = hvd;
        this.plan = plan;
        this.memory = memory;
    }

    static CheckLine check(HvdContext hvd, SweepPlan plan, boolean onHost) {
        try (SweepMemory memory = SweepMemory.of(hvd, plan.lastBytes(), onHost)) {
            String place = (onHost ? "tensors on the CPU, " : "tensors on GPUs, ") + hvd.backend();
            List<SweepRow> rows = new CollectiveSweep(hvd, plan, memory).rows(place);
            return line(rows, place);
        }
    }

    private List<SweepRow> rows(String place) {
        say("G7: float32, " + hvd.size() + " ranks, " + place + "; " + plan.warmUps() + " warm-ups, " + plan.calls()
                + " calls; time is the mean, over ranks too");
        say(SweepRow.HEADER);
        List<SweepRow> rows = new ArrayList<>();
        for (SweepCollective collective : plan.collectives()) {
            for (long bytes : plan.sizes()) {
                row(collective, bytes).ifPresent(row -> {
                    rows.add(row);
                    say(row.toString());
                });
            }
        }
        return rows;
    }

    private void say(String line) {
        if (hvd.rank() == 0) {
            System.out.println(line);
        }
    }

    /** Measures one size; empty if it has less than an element for each rank. */
    private Optional<SweepRow> row(SweepCollective collective, long nominalBytes) {
        int block = collective.block(nominalBytes, hvd.size());
        if (block == 0) {
            return Optional.empty();
        }
        String name = "gpu_check.sweep." + collective.word() + "." + nominalBytes;
        double mine = micros(collective, name, block);
        long wrong = wrong(collective, name, block);
        List<String> micros = GpuCheck.fromAllRanks(hvd, "gpu_check.sweep.micros", String.valueOf(mine));
        List<String> wrongs = GpuCheck.fromAllRanks(hvd, "gpu_check.sweep.wrong", String.valueOf(wrong));
        return Optional.of(new SweepRow(
                collective,
                hvd.size(),
                collective.bytes(block, hvd.size()),
                micros.stream().mapToDouble(Double::parseDouble).average().orElseThrow(),
                wrongs.stream().mapToLong(Long::parseLong).sum()));
    }

    /** The mean time of a call on this rank. */
    private double micros(SweepCollective collective, String name, int block) {
        Tensor tensor = filled(collective, block);
        int settling = collective.bytes(block, hvd.size()) <= LARGEST_TO_SETTLE ? SETTLING_CALLS : 0;
        for (int i = 0; i < settling + plan.warmUps(); i++) {
            collective.call(hvd, name, tensor);
        }
        hvd.barrier();
        long begun = System.nanoTime();
        for (int i = 0; i < plan.calls(); i++) {
            collective.call(hvd, name, tensor);
        }
        return (System.nanoTime() - begun) / 1e3 / plan.calls();
    }

    /** The number of wrong elements in one more call's result on this rank. */
    private long wrong(SweepCollective collective, String name, int block) {
        Tensor result = collective.call(hvd, name, filled(collective, block));
        return wrong(collective, hvd.rank(), hvd.size(), block, memory.read(result));
    }

    /** The number of elements that differ from the expected ones, or that are missing or too many. */
    static long wrong(SweepCollective collective, int rank, int ranks, int block, FloatBuffer found) {
        int outputs = collective.outputs(block, ranks);
        long wrong = Math.abs(outputs - found.remaining());
        for (int at = 0; at < Math.min(outputs, found.remaining()); at++) {
            if (found.get(found.position() + at) != collective.expected(rank, ranks, block, at)) {
                wrong++;
            }
        }
        return wrong;
    }

    private Tensor filled(SweepCollective collective, int block) {
        return memory.filled(hvd.rank(), collective.inputs(block, hvd.size()));
    }

    private static CheckLine line(List<SweepRow> rows, String place) {
        List<String> wrong = rows.stream()
                .filter(row -> row.wrong() > 0)
                .map(row -> row.wrong() + " of " + row.collective().word() + " of " + row.bytes() + " bytes")
                .toList();
        if (!wrong.isEmpty()) {
            return new CheckLine("G7", Outcome.FAIL, "wrong elements: " + String.join(", ", wrong) + "; " + place);
        }
        if (rows.isEmpty()) {
            return new CheckLine("G7", Outcome.FAIL, "every size is less than an element for each rank");
        }
        return new CheckLine("G7", Outcome.PASS, "0 wrong; " + summary(rows) + "; " + place);
    }

    /** Time of the smallest size and bandwidth of the largest of each collective. */
    private static String summary(List<SweepRow> rows) {
        List<String> parts = new ArrayList<>();
        for (SweepCollective collective : SweepCollective.values()) {
            List<SweepRow> own =
                    rows.stream().filter(row -> row.collective() == collective).toList();
            if (!own.isEmpty()) {
                SweepRow first = own.get(0);
                SweepRow last = own.get(own.size() - 1);
                parts.add(String.format(
                        Locale.ROOT,
                        "%s %.1f us (%d B), busbw %.1f GB/s (%d B)",
                        collective.word(),
                        first.micros(),
                        first.bytes(),
                        last.busBandwidth(),
                        last.bytes()));
            }
        }
        return String.join(", ", parts);
    }
}
