package io.hvd.contract.explorer;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.Phase;
import io.hvd.ProcessSet;
import io.hvd.contract.program.Action;
import io.hvd.contract.program.Kind;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Op.Flaw.What;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.Refused;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** Runs one rank's part of a program, and records its results. */
final class ProgramRunner {
    private static final Duration PHASE_BUDGET = Duration.ofMinutes(10);

    private final Program program;
    private final HvdContext hvd;
    private final RankLog log;
    private final Map<Integer, ProcessSet> sets = new ConcurrentHashMap<>();
    private final Map<Integer, Call> pending = new ConcurrentHashMap<>();
    private final KeptAllreduces kept = new KeptAllreduces();
    private final Map<Integer, Thread> forks = new ConcurrentHashMap<>();
    private volatile Throwable broken;

    private ProgramRunner(Program program, HvdContext hvd, RankLog log) {
        this.program = program;
        this.hvd = hvd;
        this.log = log;
        sets.put(0, hvd);
        for (int set = 1; set <= program.startingSets(); set++) {
            sets.put(set, hvd.processSet(set));
        }
    }

    /**
     * Every rank calls it with the same program.
     *
     * @param log of this rank; others may look into it meanwhile
     * @throws HvdException if the job has come to its end
     */
    static void play(Program program, HvdContext hvd, RankLog log) {
        new ProgramRunner(program, hvd, log).play(program.scripts().get(hvd.rank()));
    }

    private void play(List<Action> script) {
        for (Action action : script) {
            switch (action.act()) {
                case CALL -> call(program.ops().get(action.op()));
                case START -> start(program.ops().get(action.op()));
                case FINISH -> finish(program.ops().get(action.op()), action.amount());
                case COMPUTE -> compute(action.amount());
                case PHASE -> {
                    try (Phase phase = hvd.phase("computing of strand " + action.strand(), PHASE_BUDGET)) {
                        compute(action.amount());
                    }
                }
                case REFUSED ->
                    Refused.wrong(action.op(), hvd, sets.get(action.amount())).ifPresent(log::find);
                case DUPLICATE -> duplicate(program.ops().get(action.op()), action.amount());
                case FORK -> fork(action);
                case AWAIT_FORK -> await(forks.get(action.op()));
            }
        }
    }

    /** Stands for work of the program's own. */
    private static void compute(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while it computed", e);
        }
    }

    private void fork(Action action) {
        Thread thread = new Thread(
                () -> {
                    try {
                        play(action.body());
                    } catch (RuntimeException | Error e) {
                        broken = e;
                    }
                },
                "explorer-" + hvd.rank() + "-" + action.op());
        thread.setDaemon(true);
        forks.put(action.op(), thread);
        thread.start();
    }

    private void await(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a thread of this rank was waited for", e);
        }
        if (broken instanceof RuntimeException failed) {
            throw failed;
        }
        if (broken instanceof Error failed) {
            throw failed;
        }
    }

    private Call prepared(Op op) {
        return new Call(op, hvd, op.kind() == Kind.ADD_SET ? null : sets.get(op.set()), kept);
    }

    private void call(Op op) {
        Call call = prepared(op);
        log.called[op.id()] = System.nanoTime();
        HvdException refusal = null;
        try {
            call.callAndWait();
        } catch (HvdException e) {
            refusal = e;
        }
        log.done[op.id()] = System.nanoTime();
        conclude(op, call, refusal);
    }

    private void start(Op op) {
        Call call = prepared(op);
        log.called[op.id()] = System.nanoTime();
        try {
            call.start();
        } catch (HvdException e) {
            requireGoesOn(e);
            log.find(op + " was refused when it was submitted: " + e.getMessage());
            return;
        }
        log.handed[op.id()] = System.nanoTime();
        pending.put(op.id(), call);
    }

    private void finish(Op op, int way) {
        Call call = pending.remove(op.id());
        if (call == null) {
            return; // its refusal has been noted
        }
        log.waited[op.id()] = System.nanoTime();
        HvdException refusal = null;
        try {
            if (way == Action.CALLBACK) {
                CountDownLatch done = new CountDownLatch(1);
                call.whenDone(done::countDown);
                done.await();
            }
            call.finish(way);
        } catch (HvdException e) {
            refusal = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + op + " was waited for", e);
        }
        log.done[op.id()] = System.nanoTime();
        conclude(op, call, refusal);
    }

    private void conclude(Op op, Call call, HvdException refusal) {
        if (refusal != null) {
            requireGoesOn(refusal);
        }
        if (op.kind() == Kind.LIMITED_BARRIER && refusal instanceof BarrierTimeoutException) {
            log.gaveUp[op.id()] = refusal.getMessage();
        } else if (op.isFlawed()) {
            wrongRefusal(op, refusal).or(call::wrongAfterRefusal).ifPresent(what -> log.find(op + ": " + what));
        } else if (refusal != null) {
            log.find(op + " was refused: " + refusal.getMessage());
        } else {
            call.wrong().ifPresent(what -> log.find(op + ": " + what));
            log.digest[op.id()] = call.digest();
            if (call.added() != null) {
                sets.put(op.set(), call.added());
            }
        }
    }

    /** Every rank is told, with the tensor's name and, where one was at odds with the others, its number. */
    private static Optional<String> wrongRefusal(Op op, HvdException refusal) {
        if (refusal == null) {
            return Optional.of("it was not refused");
        }
        if (op.flaw().what() == What.KNOWN_SET) {
            return refusal.id() == ErrorId.BAD_ARGUMENT
                    ? Optional.empty()
                    : Optional.of("it was refused with " + refusal.getMessage());
        }
        if (op.flaw().what() == What.JOINED) {
            return refusal instanceof RankMismatchException
                            && refusal.getMessage().contains("joined")
                    ? Optional.empty()
                    : Optional.of("it was refused with " + refusal.getMessage());
        }
        boolean names = op.name() == null
                || op.kind() == Kind.TRANSFER
                || refusal.getMessage().contains(op.name());
        boolean odd = op.kind() == Kind.TRANSFER
                || refusal.getMessage().contains("{" + op.flaw().rank() + "}");
        return refusal instanceof RankMismatchException && names && odd
                ? Optional.empty()
                : Optional.of("it was refused with " + refusal.getMessage());
    }

    /** The end of the job is the end of the program. */
    private static void requireGoesOn(HvdException refusal) {
        if (refusal instanceof ShutdownException
                || refusal.id() == ErrorId.BACK_END
                || refusal.id() == ErrorId.NOT_INITIALISED) {
            throw refusal;
        }
    }

    /** @param variant which operation takes the name again */
    private void duplicate(Op op, int variant) {
        ProcessSet set = sets.get(op.set());
        Tensor tensor = Tensor.of(1f, 2f);
        try {
            switch (variant) {
                case 0 -> set.allreduceAsync(op.name(), tensor, AllreduceOptions.sum());
                case 1 -> set.allgatherAsync(op.name(), tensor);
                case 2 -> set.broadcastAsync(op.name(), tensor, op.members().get(0));
                default -> // the name of an allreduce ends in a number, as those of a group's tensors do
                    set.groupedAllreduceAsync(
                            op.name().substring(0, op.name().lastIndexOf('.')),
                            List.of(tensor, tensor),
                            AllreduceOptions.sum());
            }
            log.find(op + " was on its way, and its name was not refused");
        } catch (DuplicateNameException refused) {
            if (!refused.getMessage().contains(op.name())) {
                log.find(op + ": its name is not in the refusal " + refused.getMessage());
            }
        }
    }
}
