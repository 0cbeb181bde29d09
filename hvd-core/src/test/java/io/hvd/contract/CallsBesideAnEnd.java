package io.hvd.contract;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rank 2 of three closes while the others make every kind of call. Each call must end with an error that names rank 2; what
 * needs only the other two ranks must work. As a main class it is a rank of a launched job.
 */
public final class CallsBesideAnEnd {
    static final int CLOSED = 2;
    /** The members without the closed rank, and those with it. */
    static final List<List<Integer>> SETS = List.of(List.of(0, 1), List.of(1, CLOSED));

    private static final Pattern CLOSED_RANKS = Pattern.compile("ranks \\{([^}]*)} have closed their context");
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private CallsBesideAnEnd() {}

    /** A call that waits for other ranks. */
    public interface Call {
        void make();
    }

    static InitOptions options() {
        return InitOptions.standard().withProcessSets(SETS).withDynamicProcessSets();
    }

    /** @param args the number of equal steps before rank 2 closes */
    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init(options())) {
            List<String> wrong = play(hvd, Integer.parseInt(args[0]));
            System.out.println("rank " + hvd.rank() + " WRONG " + wrong);
        }
    }

    /** The faults of this rank, which is to close next. */
    static List<String> play(HvdContext hvd, int steps) {
        for (int step = 0; step < steps; step++) {
            hvd.allreduceInPlace("step", Tensor.of(1f), SUM);
        }
        List<String> wrong = new ArrayList<>();
        if (hvd.rank() == CLOSED) {
            return wrong; // as after an exception that the program has caught
        }
        Map<String, Call> calls = calls(hvd, CLOSED);
        calls.put("removeProcessSet", () -> hvd.removeProcessSet(hvd.processSet(1)));
        if (hvd.rank() == 1) {
            ProcessSet holding = hvd.processSet(2);
            calls.put("join of a set", holding::join);
            calls.put("barrier of a set", holding::barrier);
            calls.putAll(withTensors("a set: ", holding, 1));
        }
        calls.forEach((name, call) -> wrong(name, call, CLOSED).ifPresent(wrong::add));
        ProcessSet others = hvd.processSet(1);
        float sum = others.allreduce("others", Tensor.of(hvd.rank() + 1f), SUM).item();
        if (sum != 3f || others.join() < 0) {
            wrong.add("the set without the closed rank gave " + sum);
        }
        return wrong;
    }

    /** The fault of the end of a call that needs a rank which closes. */
    public static Optional<String> wrong(String name, Call call, int closed) {
        try {
            call.make();
            return Optional.of(name + " has ended without an error");
        } catch (ShutdownException e) {
            return namesClosed(e.getMessage(), closed) ? Optional.empty() : Optional.of(name + ": " + e.getMessage());
        } catch (RuntimeException e) {
            return Optional.of(name + " threw " + e);
        }
    }

    /** Other ranks may have come to their end meanwhile. */
    private static boolean namesClosed(String message, int closed) {
        Matcher named = CLOSED_RANKS.matcher(message);
        return named.find() && List.of(named.group(1).split(", ")).contains(String.valueOf(closed));
    }

    /** Calls of every kind that need all ranks, or the closed one, by what they are. */
    public static Map<String, Call> calls(HvdContext hvd, int closed) {
        Map<String, Call> calls = new LinkedHashMap<>();
        calls.put("join", hvd::join);
        calls.put("a second join", hvd::join);
        calls.put("barrier", hvd::barrier);
        calls.put("monitoredBarrier", () -> hvd.monitoredBarrier(Duration.ofMinutes(5)));
        calls.put("broadcastObject", () -> hvd.broadcastObject("object", "text", ObjectCodec.utf8(), 0));
        calls.put("allgatherObject", () -> hvd.allgatherObject("objects", "text", ObjectCodec.utf8()));
        calls.put("requireSame", () -> hvd.requireSame(Map.of("seed", "1")));
        calls.put("addProcessSet", () -> hvd.addProcessSet(List.of(closed)));
        calls.put("send", () -> hvd.send(Tensor.of(1f), closed, 7));
        calls.put("receive", () -> hvd.receive(Tensor.of(0f), closed, 8));
        calls.putAll(withTensors("all: ", hvd, 0));
        return calls;
    }

    private static Map<String, Call> withTensors(String of, ProcessSet set, int root) {
        Map<String, Call> calls = new LinkedHashMap<>();
        Tensor two = Tensor.zeros(DType.FLOAT32, Shape.of(2L * set.size()));
        calls.put(of + "the step", () -> set.allreduceInPlace("step", Tensor.of(1f), SUM));
        calls.put(of + "allreduce", () -> set.allreduce("allreduce", Tensor.of(1f)));
        calls.put(of + "an unnamed allreduce", () -> set.allreduce(null, Tensor.of(1f)));
        calls.put(of + "group", () -> set.groupedAllreduce("group", List.of(Tensor.of(1f), Tensor.of(2f)), SUM));
        calls.put(of + "allgather", () -> set.allgather("allgather", two));
        calls.put(of + "group of allgathers", () -> set.groupedAllgather("gathers", List.of(two, two)));
        calls.put(
                of + "sparse",
                () -> set.sparseAllreduce(
                        "sparse",
                        Tensor.zeros(DType.INT64, Shape.of(1)),
                        Tensor.zeros(DType.FLOAT32, Shape.of(1, 2)),
                        ReduceOp.SUM));
        calls.put(of + "broadcast", () -> set.broadcast("broadcast", two, root));
        calls.put(of + "broadcastParameters", () -> set.broadcastParameters(Map.of("weights", two), root));
        calls.put(of + "alltoall", () -> set.alltoall("alltoall", two));
        calls.put(of + "reducescatter", () -> set.reducescatter("scattered", two, SUM));
        calls.put(of + "reduce", () -> set.reduce("reduce", two, SUM, root));
        calls.put(of + "gather", () -> set.gather("gather", two, root));
        calls.put(of + "scatter", () -> set.scatter("scatter", two, root));
        calls.put(of + "prepared", () -> {
            try (var prepared = set.prepareAllreduce(List.of("p"), List.of(two), SUM)) {
                prepared.start();
                prepared.await();
            }
        });
        return calls;
    }
}
