package io.hvd.config;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * This process's place as Slurm has told it. A batch script's shell has the number of a task too, which means
 * nothing: only srun's own processes belong to a step.
 *
 * @param job its number
 * @param task empty where srun has not started this process itself, as under mpirun inside a job
 * @param cpusOnNode processors that the step has on this node
 * @param gpusOnNode GPUs that it has there
 * @param ownGpus whether Slurm shows each task nothing but GPUs of its own
 * @param yields whether Open MPI has been told how to wait, by {@value #YIELD}
 */
public record SlurmPlace(
        String job,
        Optional<Task> task,
        OptionalInt cpusOnNode,
        OptionalInt gpusOnNode,
        boolean ownGpus,
        boolean yields) {
    /** Open MPI's parameter for ranks that share cores; nothing but the environment can set it under srun. */
    public static final String YIELD = "OMPI_MCA_mpi_yield_when_idle";

    private static final Pattern GPU_BINDING = Pattern.compile("single:|per_task|map_gpu:|mask_gpu:");

    /** One thread trains, one communicates. */
    private static final int BUSY_THREADS_PER_RANK = 2;

    /**
     * One process of a step.
     *
     * @param step job and step, such as {@code 7.0}
     * @param number the process's number among those of the step
     * @param count the number of them
     */
    public record Task(String step, int number, int count) {}

    /** Empty outside Slurm. */
    public static Optional<SlurmPlace> of(Map<String, String> environment) {
        if (!environment.containsKey("SLURM_JOB_ID")) {
            return Optional.empty();
        }
        String job = environment.get("SLURM_JOB_ID");
        return Optional.of(new SlurmPlace(
                job,
                task(job, environment),
                number(environment, "SLURM_CPUS_ON_NODE"),
                number(environment, "SLURM_GPUS_ON_NODE"),
                bindsGpus(environment),
                environment.containsKey(YIELD)));
    }

    /** slurmd names the binding to every task; the other two are there where the batch script has asked for it. */
    private static boolean bindsGpus(Map<String, String> environment) {
        return environment.containsKey("SLURM_GPUS_PER_TASK")
                || Stream.of("SLURMD_TRES_BIND", "SLURM_GPU_BIND")
                        .map(name -> environment.getOrDefault(name, ""))
                        .anyMatch(binding -> GPU_BINDING.matcher(binding).find());
    }

    private static Optional<Task> task(String job, Map<String, String> environment) {
        OptionalInt number = number(environment, "SLURM_PROCID");
        OptionalInt count = number(environment, "SLURM_STEP_NUM_TASKS");
        boolean mpirun = environment.containsKey("OMPI_COMM_WORLD_RANK");
        if (mpirun || !environment.containsKey("SLURM_STEP_ID") || number.isEmpty() || count.isEmpty()) {
            return Optional.empty();
        }
        String step = job + "." + environment.get("SLURM_STEP_ID");
        return Optional.of(new Task(step, number.getAsInt(), count.getAsInt()));
    }

    /**
     * Why this process, which found no launcher of MPI's, must not go on as a job of its own: srun has started others
     * beside it.
     */
    public Optional<String> whyNotAlone() {
        return task.filter(mine -> mine.count > 1)
                .map(mine -> "this is task " + mine.number + " of the " + mine.count + " of Slurm step " + mine.step
                        + ", but srun has told it nothing of the others: it would train by itself, and so would each"
                        + " of them. Start it by srun --mpi=pmix, or --mpi=pmi2 with MPICH (srun --mpi=list shows"
                        + " what Slurm has), or by mpirun inside the job; if they are meant to be jobs of their own,"
                        + " set HVD_BACKEND=local");
    }

    /** Processes of the step; empty where srun has not started this one itself. */
    public OptionalInt tasks() {
        return task.stream().mapToInt(Task::count).findFirst();
    }

    /** Why this job differs from the step that it is; empty if it is the same. */
    public Optional<String> whyOtherJob(int rank, int size) {
        return task.filter(mine -> mine.number != rank || mine.count != size)
                .map(mine -> "this is rank " + rank + " of " + size + ", but Slurm step " + mine.step + " says task "
                        + mine.number + " of " + mine.count
                        + " (SLURM_PROCID, SLURM_STEP_NUM_TASKS). Start it by srun --mpi=pmix, with the Open MPI that"
                        + " HVD_OPENMPI_HOME or PATH names built for the PMIx of this Slurm, or by srun --mpi=pmi2"
                        + " with MPICH");
    }

    /** Advice against ranks that spin on cores which others need; empty where there are cores enough. */
    public Optional<String> waitingAdvice(int localSize) {
        boolean crowded = cpusOnNode.isPresent() && BUSY_THREADS_PER_RANK * localSize > cpusOnNode.getAsInt();
        return crowded && localSize > 1 && task.isPresent() && !yields
                ? Optional.of(localSize + " ranks of Slurm step " + task.get().step + " share "
                        + cpusOnNode.getAsInt() + " processors on a node, with " + BUSY_THREADS_PER_RANK
                        + " busy threads each, and ranks that wait keep theirs busy: export " + YIELD
                        + "=1 before srun, or ask for #SBATCH --cpus-per-task=" + BUSY_THREADS_PER_RANK)
                : Optional.empty();
    }

    /** The line of the batch script that does not fit its GPUs. */
    public String gpuAdvice(int localSize, int gpusPerRank, int visible) {
        return ". In Slurm job " + job + ", #SBATCH --ntasks-per-node=" + localSize + " needs --gres=gpu:"
                + Math.multiplyExact(localSize, gpusPerRank) + ", or --gres=gpu:" + visible
                + " at most --ntasks-per-node=" + visible / gpusPerRank;
    }

    private static OptionalInt number(Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "");
        return value.matches("\\d{1,9}") ? OptionalInt.of(Integer.parseInt(value)) : OptionalInt.empty();
    }
}
