package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Init, shutdown and init again, and jobs of some of the ranks only. */
public final class LifecycleProgram {
    private static final Duration SAVING = Duration.ofSeconds(8);

    private LifecycleProgram() {}

    public static void main(String[] args) {
        switch (args[0]) {
            case "again" -> again(true);
            case "again-without-close" -> again(false);
            case "some" -> some();
            case "save-at-the-end" -> saveAtTheEnd();
            case "ends-between" -> endsBetween(args[1]);
            case "ends-before-some" -> endsBeforeSome(args[1], args[2]);
            case "refused-and-caught" -> refusedAndCaught();
            case "refused-again" -> refusedAgain(args[1]);
            case "init" -> Hvd.init().close();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void again(boolean closeAtTheEnd) {
        require(!Hvd.isInitialized(), "initialised before init");
        try {
            Hvd.rank();
            throw new AssertionError("Hvd.rank() answered before init");
        } catch (NotInitialisedException e) {
            require(e.getMessage().contains("Hvd.rank()") && e.getMessage().contains("Hvd.init()"), e.getMessage());
            require(e.getMessage().contains("Hvd.rankFromLauncher()"), e.getMessage());
        }
        int launchers = Hvd.rankFromLauncher();
        for (int life = 0; life < 3; life++) {
            HvdContext hvd = Hvd.init();
            require(Hvd.init() == hvd, "init is not idempotent");
            require(hvd.rank() == launchers, "the launcher calls rank " + hvd.rank() + " " + launchers);
            float sum =
                    hvd.allreduce("life", Tensor.of(1f), AllreduceOptions.sum()).item();
            require(sum == hvd.size(), "sum is " + sum);
            Handle pending = hvd.rank() == 0 && hvd.size() > 1
                    ? hvd.allreduceAsync("never.complete", Tensor.of(1f), AllreduceOptions.sum())
                    : null;
            if (life == 2 && closeAtTheEnd) {
                hvd.close();
            } else {
                Hvd.shutdown();
            }
            require(!Hvd.isInitialized(), "initialised after shutdown");
            if (pending != null) {
                requireShutDown(pending);
            }
        }
        System.out.println("THREE LIVES");
    }

    /** Rank 0 alone has something to do after the last shutdown, and it takes longer than the end of MPI. */
    private static void saveAtTheEnd() {
        int rank = Hvd.init().rank();
        Hvd.shutdown();
        if (rank == 0) {
            long end = System.nanoTime() + SAVING.toNanos();
            while (System.nanoTime() < end) {
                LockSupport.parkNanos(end - System.nanoTime());
            }
            System.out.println("SAVED");
        }
    }

    /** Rank 1 ends in one of several ways where the others join again. */
    private static void endsBetween(String how) {
        HvdContext hvd = Hvd.init();
        int rank = hvd.rank();
        if (rank == 1 && "close".equals(how)) {
            hvd.close();
        } else {
            Hvd.shutdown();
        }
        if (rank != 1) {
            Hvd.init().close();
        } else if ("throw".equals(how)) {
            throw new IllegalStateException("between two jobs");
        } else if ("exit".equals(how)) {
            System.exit(3);
        }
    }

    /** Ranks 0 and 2 join again, with rank 1, which ends. */
    private static void endsBeforeSome(String how, String members) {
        int rank = Hvd.init().rank();
        Hvd.shutdown();
        if (rank % 2 == 0) {
            Hvd.init(Stream.of(members.split(" ")).map(Integer::valueOf).toList())
                    .close();
        } else if (rank == 1 && "exit".equals(how)) {
            System.exit(0);
        }
    }

    private static void refusedAndCaught() {
        Hvd.init();
        Hvd.shutdown();
        try {
            Hvd.init(InitOptions.standard().withSettings(Map.of("HOROVOD_FUSION_THRESHOLD", "lots")));
        } catch (HvdException e) {
            System.out.println("GOES ON ALONE");
        }
    }

    /** Rank 1 learns before it has told the others anything that it cannot join again; a thread of its own lives on. */
    private static void refusedAgain(String why) {
        int rank = Hvd.init().rank();
        Hvd.shutdown();
        new Thread(LockSupport::park, "left-over").start();
        InitOptions bad = "setting".equals(why)
                ? InitOptions.standard().withSettings(Map.of("HOROVOD_FUSION_THRESHOLD", "lots"))
                : InitOptions.standard().withRanks(List.of(1, 1));
        Hvd.init(rank == 1 ? bad : InitOptions.standard()).close();
        System.exit(0);
    }

    private static void requireShutDown(Handle pending) {
        try {
            pending.synchronize();
            throw new AssertionError("what was pending has a result after shutdown");
        } catch (ShutdownException e) {
            require(e.getMessage().contains("never.complete"), e.getMessage());
        }
    }

    /** World ranks 2 and 1, in this order, form a job of their own; 0 and 3 form another. */
    private static void some() {
        int world = Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK"));
        List<Integer> members = world == 1 || world == 2 ? List.of(2, 1) : List.of(0, 3);
        try (HvdContext hvd = Hvd.init(members)) {
            int[] worlds = (int[]) hvd.allgather("worlds", Tensor.of(world)).toArray();
            require(worlds.length == 2 && worlds[0] == members.get(0) && worlds[1] == members.get(1), "wrong members");
            System.out.println("WORLD " + world + " RANK " + hvd.rank() + " OF " + hvd.size());
        }
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }
}
