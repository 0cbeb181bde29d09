package io.hvd.contract.explorer;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.contract.CallsBesideAnEnd;
import io.hvd.contract.program.Draw;
import io.hvd.contract.program.Program;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * The end of some programs, behind the last step: one rank closes, while the others go on with calls of any kind, each
 * its own. Every call that needs the closed rank names it, and sets without it work on.
 */
final class EarlyEnd {
    private static final int MOST_CALLS = 6;
    private static final int MOST_MILLIS = 20;

    private EarlyEnd() {}

    /** Every rank calls it last, and then closes. @return what is wrong on this rank */
    static List<String> play(Program program, HvdContext hvd) {
        Draw ofAll = new Draw(Draw.mixed(program.id().seed(), 4_711));
        int ends = ofAll.below(hvd.size());
        boolean isOver = hvd.size() == 1 || !ofAll.chance(0.5) || hvd.rank() == ends;
        Draw draw = new Draw(Draw.mixed(program.id().seed(), 31 + hvd.rank()));
        LockSupport.parkNanos(draw.below(MOST_MILLIS) * 1_000_000L);
        return isOver ? List.of() : beside(program, hvd, ends, draw);
    }

    private static List<String> beside(Program program, HvdContext hvd, int ends, Draw draw) {
        List<String> wrong = Collections.synchronizedList(new ArrayList<>());
        Map<String, CallsBesideAnEnd.Call> calls = CallsBesideAnEnd.calls(hvd, ends);
        calls.remove("a second join"); // two threads must not join at a time
        List<String> names = draw.shuffled(List.copyOf(calls.keySet())).subList(0, draw.between(2, MOST_CALLS));
        List<String> here = draw.chance(0.5) ? names : names.subList(1, names.size());
        Thread other = new Thread(
                () -> {
                    if (here != names) {
                        make(calls, names.get(0), ends, wrong);
                    }
                },
                "explorer-end-" + hvd.rank());
        other.start();
        here.forEach(name -> make(calls, name, ends, wrong));
        await(other);
        for (int set = 1; set <= program.startingSets(); set++) {
            List<Integer> members = program.sets().get(set);
            boolean lives = members.contains(hvd.rank()) && hvd.processSets().containsKey(set);
            if (lives && !members.contains(ends)) {
                sum(hvd, set, members, wrong);
            }
        }
        return wrong;
    }

    private static void make(Map<String, CallsBesideAnEnd.Call> calls, String name, int ends, List<String> wrong) {
        CallsBesideAnEnd.wrong(name, calls.get(name), ends)
                .map(what -> "beside the early end of rank " + ends + ": " + what)
                .ifPresent(wrong::add);
    }

    private static void sum(HvdContext hvd, int set, List<Integer> members, List<String> wrong) {
        float sum = hvd.processSet(set)
                .allreduce("explorer.end", Tensor.of(1f), AllreduceOptions.sum())
                .item();
        if (sum != members.size()) {
            wrong.add("set " + set + " of " + members + " summed to " + sum);
        }
    }

    private static void await(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a thread of this rank was waited for", e);
        }
    }
}
