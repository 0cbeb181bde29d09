package io.hvd.junit;

import io.hvd.elastic.PlannedFault;
import io.hvd.elastic.PlannedFault.Kind;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What is to happen to which rank of an elastic job and when, so that a test sees how the program goes on. The job runs in processes
 * of its own, of which each carries out its part, once:
 *
 * <pre>{@code
 * HvdLauncher.ranks(4).flags("--min-np", "2")
 *         .environment(FaultPlan.VARIABLE, FaultPlan.kill(1).atStep(40).toString())
 *         .run(Train.class);
 * }</pre>
 *
 * <p>A rank is named by its number in the first generation; the numbers of those that join later go on from there. Immutable.
 */
public final class FaultPlan {
    /** The variable by which the ranks get a plan, as {@link #toString} writes it. */
    public static final String VARIABLE = PlannedFault.VARIABLE;

    private final List<PlannedFault> faults;

    private FaultPlan(List<PlannedFault> faults) {
        this.faults = List.copyOf(faults);
    }

    /** A process that is ended by SIGKILL, as by the kernel when memory is short. */
    public static Fault kill(int rank) {
        return new Fault(Kind.KILL, rank, 0);
    }

    /** A process that gets SIGTERM, as from Slurm or a cloud before they take its host away. */
    public static Fault terminate(int rank) {
        return new Fault(Kind.TERMINATE, rank, 0);
    }

    /** A process that stands still for a time, as one that is swapped out. @param time at least a millisecond */
    public static Fault stop(int rank, Duration time) {
        if (time.toMillis() < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "FaultPlan.stop(" + rank + ", " + time + "): expected at least 1 ms");
        }
        return new Fault(Kind.STOP, rank, time.toMillis());
    }

    /** A fault that waits for its moment. */
    public static final class Fault {
        private final Kind kind;
        private final int rank;
        private final long millis;

        private Fault(Kind kind, int rank, long millis) {
            if (rank < 0) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "FaultPlan." + kind + ": rank " + rank + ", expected 0 or more");
            }
            this.kind = kind;
            this.rank = rank;
            this.millis = millis;
        }

        /**
         * When the rank has committed so many steps, and the others are in the next one; with 0 before the first step.
         *
         * @param steps over all generations, as {@code Elastic.step()} counts them
         */
        public FaultPlan atStep(long steps) {
            return plan(PlannedFault.Moment.AT_STEP, steps);
        }

        /** When the ranks of a generation have begun to take over the state. @param generation from 0 on */
        public FaultPlan inSync(int generation) {
            return plan(PlannedFault.Moment.IN_SYNC, generation);
        }

        private FaultPlan plan(PlannedFault.Moment moment, long number) {
            if (number < 0) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "FaultPlan." + kind + ": at " + number + ", expected 0 or more");
            }
            return new FaultPlan(List.of(new PlannedFault(kind, rank, moment, number, millis)));
        }
    }

    /** The faults of both. */
    public FaultPlan and(FaultPlan more) {
        return new FaultPlan(
                Stream.concat(faults.stream(), more.faults.stream()).toList());
    }

    /** The value of {@link #VARIABLE}. */
    @Override
    public String toString() {
        return faults.stream().map(PlannedFault::text).collect(Collectors.joining("; "));
    }
}
