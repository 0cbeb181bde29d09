package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Check G9: the time of an allreduce by hvd beside that of the same one by LibTorch's own process group, over NCCL, or over
 * Gloo on the CPU. Both sum the same float32 tensor of LibTorch's in place, and each call is waited for until its result is
 * there. hvd is first called so often that the ranks no longer negotiate; LibTorch never negotiates.
 */
final class BesideLibTorch {
    static final String NAME = "G9";

    private static final int SETTLING_CALLS = 11;

    private final HvdContext hvd;
    private final SweepPlan plan;
    private final TorchGroup torch;

    private BesideLibTorch(HvdContext hvd, SweepPlan plan, TorchGroup torch) {
        this.hvd = hvd;
        this.plan = plan;
        this.torch = torch;
    }

    /** A row of the table. @param wrong elements of both results that have another value than they must, over all ranks */
    private record Row(long bytes, double hvdMicros, double torchMicros, long wrong) {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT, "beside-libtorch %11d %9.2f %9.2f %7d", bytes, hvdMicros, torchMicros, wrong);
        }
    }

    static CheckLine check(HvdContext hvd, SweepPlan plan, boolean onHost) {
        List<String> obstacles = GpuCheck.fromAllRanks(hvd, "gpu_check.torch.obstacle", obstacle(hvd, onHost)).stream()
                .filter(each -> !each.isEmpty())
                .distinct()
                .toList();
        if (!obstacles.isEmpty()) {
            return new CheckLine(NAME, Outcome.NOT_RUN, String.join("; ", obstacles));
        }
        try (TorchGroup torch = TorchGroup.of(hvd, onHost)) {
            CheckLine line = new BesideLibTorch(hvd, plan, torch).measured();
            hvd.barrier();
            return line;
        }
    }

    /** Why this rank cannot take part; empty if it can. */
    private static String obstacle(HvdContext hvd, boolean onHost) {
        if (new HashSet<>(hvd.hosts()).size() > 1) {
            return "the ranks are on several hosts, and LibTorch's find each other through a file of one host";
        }
        try {
            TorchRuntime.load();
            return onHost ? "" : TorchRuntime.whyNoGpu().orElse("");
        } catch (HvdException e) {
            return e.getMessage();
        }
    }

    private CheckLine measured() {
        say(NAME + ": allreduce of float32, " + hvd.size() + " ranks, " + hvd.backend() + " beside LibTorch's "
                + torch.name() + "; " + plan.warmUps() + " warm-ups, " + plan.calls()
                + " calls; means, over ranks too");
        say("beside-libtorch        size       hvd  LibTorch  #wrong\n"
                + "                         (B)      (us)      (us)");
        List<Row> rows = new ArrayList<>();
        for (long bytes : plan.sizes()) {
            rows.add(row(bytes));
            say(rows.get(rows.size() - 1).toString());
        }
        return line(rows);
    }

    private void say(String line) {
        if (hvd.rank() == 0) {
            System.out.println(line);
        }
    }

    private Row row(long bytes) {
        int elements = (int) (bytes / Float.BYTES);
        String name = "gpu_check.torch." + bytes;
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor values = Tensor.create(values(elements));
            Tensor tensor = values.to(torch.device(), values.scalar_type()).clone();
            io.hvd.tensor.Tensor alias = TorchTensors.alias(name, tensor);
            Runnable byHvd = () -> hvd.allreduceInPlace(name, alias, AllreduceOptions.sum());
            Runnable byTorch = () -> torch.sum(tensor);
            long wrong = wrong(tensor, values, byHvd) + wrong(tensor, values, byTorch);
            double hvdMicros = micros(SETTLING_CALLS, byHvd);
            double torchMicros = micros(0, byTorch);
            return new Row(bytes, mean("hvd_micros", hvdMicros), mean("torch_micros", torchMicros), (long)
                    sum("wrong", wrong));
        }
    }

    private float[] values(int elements) {
        float[] values = new float[elements];
        for (int at = 0; at < elements; at++) {
            values[at] = SweepCollective.value(hvd.rank(), at);
        }
        return values;
    }

    /** The number of wrong elements after one call. */
    private long wrong(Tensor tensor, Tensor values, Runnable call) {
        tensor.copy_(values);
        call.run();
        float[] found = new float[Math.toIntExact(tensor.numel())];
        tensor.cpu().data_ptr_float().get(found);
        long wrong = 0;
        for (int at = 0; at < found.length; at++) {
            if (found[at] != SweepCollective.ALLREDUCE.expected(hvd.rank(), hvd.size(), found.length, at)) {
                wrong++;
            }
        }
        tensor.zero_();
        return wrong;
    }

    private double micros(int settling, Runnable call) {
        for (int i = 0; i < settling + plan.warmUps(); i++) {
            call.run();
        }
        hvd.barrier();
        long begun = System.nanoTime();
        for (int i = 0; i < plan.calls(); i++) {
            call.run();
        }
        return (System.nanoTime() - begun) / 1e3 / plan.calls();
    }

    private double mean(String what, double mine) {
        return sum(what, mine) / hvd.size();
    }

    private double sum(String what, double mine) {
        return GpuCheck.fromAllRanks(hvd, "gpu_check.torch." + what, String.valueOf(mine)).stream()
                .mapToDouble(Double::parseDouble)
                .sum();
    }

    private CheckLine line(List<Row> rows) {
        long wrong = rows.stream().mapToLong(Row::wrong).sum();
        if (wrong > 0) {
            return new CheckLine(NAME, Outcome.FAIL, wrong + " wrong elements in sums by hvd or by LibTorch");
        }
        Row first = rows.get(0);
        Row last = rows.get(rows.size() - 1);
        return new CheckLine(
                NAME,
                Outcome.PASS,
                String.format(
                        Locale.ROOT,
                        "0 wrong; %d B: hvd %.1f us, LibTorch's %s %.1f us; %d B: %.1f and %.1f us",
                        first.bytes,
                        first.hvdMicros,
                        torch.name(),
                        first.torchMicros,
                        last.bytes,
                        last.hvdMicros,
                        last.torchMicros));
    }
}
