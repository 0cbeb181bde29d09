package io.hvd.contract.program;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Plays a program through without data or time, to know whether it comes to an end by hvd's own rules: an operation is
 * done when all that take part have asked for it. What does not end here is a mistake of the program, not of hvd.
 */
public final class Ending {
    private final List<Op> ops;
    private final Deque<Thread> threads = new ArrayDeque<>();
    private final Map<Integer, Set<Integer>> started = new HashMap<>();
    private final Set<Integer> done = new HashSet<>();
    /** Ranks that have joined in a set, until all have. */
    private final Map<Integer, Set<Integer>> joined = new HashMap<>();

    private final Set<Integer> endedForks = new HashSet<>();

    private Ending(List<Op> ops) {
        this.ops = ops;
    }

    /** One thread of a rank. */
    private static final class Thread {
        final int rank;
        final int fork;
        final List<Action> script;
        int at;
        /** Whether the call that it is at has been made already. */
        boolean called;

        Thread(int rank, int fork, List<Action> script) {
            this.rank = rank;
            this.fork = fork;
            this.script = script;
        }
    }

    /** @param scripts by rank */
    public static boolean isReached(List<Op> ops, List<List<Action>> scripts) {
        Ending ending = new Ending(ops);
        for (int rank = 0; rank < scripts.size(); rank++) {
            ending.threads.add(new Thread(rank, -1, scripts.get(rank)));
        }
        return ending.playsOn();
    }

    private boolean playsOn() {
        boolean moved = true;
        while (moved && !threads.isEmpty()) {
            moved = false;
            for (Thread thread : new ArrayList<>(threads)) {
                while (thread.at < thread.script.size() && step(thread)) {
                    moved = true;
                }
                if (thread.at == thread.script.size()) {
                    threads.remove(thread);
                    endedForks.add(thread.fork);
                    moved = true;
                }
            }
        }
        return threads.isEmpty();
    }

    /** @return false if the thread has to wait */
    private boolean step(Thread thread) {
        Action action = thread.script.get(thread.at);
        boolean goesOn =
                switch (action.act()) {
                    case START -> {
                        ask(thread.rank, ops.get(action.op()));
                        yield true;
                    }
                    case CALL -> {
                        if (!thread.called) {
                            ask(thread.rank, ops.get(action.op()));
                            thread.called = true;
                        }
                        yield isDone(action.op());
                    }
                    case FINISH -> isDone(action.op());
                    case FORK -> {
                        threads.add(new Thread(thread.rank, action.op(), action.body()));
                        yield true;
                    }
                    case AWAIT_FORK -> endedForks.contains(action.op());
                    case COMPUTE, PHASE, REFUSED, DUPLICATE -> true;
                };
        if (goesOn) {
            thread.at++;
            thread.called = false;
        }
        return goesOn;
    }

    /** A barrier whose limit ends before all have come waits for nobody for ever. */
    private boolean isDone(int op) {
        return done.contains(op);
    }

    private void ask(int rank, Op op) {
        started.computeIfAbsent(op.id(), id -> new TreeSet<>()).add(rank);
        if (op.kind() == Kind.JOIN) {
            Set<Integer> here = joined.computeIfAbsent(op.set(), set -> new TreeSet<>());
            here.add(rank);
            started.keySet().stream()
                    .map(ops::get)
                    .filter(other -> other.set() == op.set())
                    .forEach(this::look);
            if (here.containsAll(op.members())) {
                done.add(op.id());
                here.clear();
            }
        } else {
            look(op);
        }
    }

    private void look(Op op) {
        Set<Integer> missing = new TreeSet<>(op.members());
        missing.removeAll(started.get(op.id()));
        if (op.kind() != Kind.TRANSFER) {
            missing.removeAll(joined.getOrDefault(op.set(), Set.of()));
        }
        if (op.kind() != Kind.JOIN && (missing.isEmpty() || op.mayExpire())) {
            done.add(op.id());
        }
    }
}
