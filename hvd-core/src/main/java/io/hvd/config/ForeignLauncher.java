package io.hvd.config;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A launcher that is none of MPI's and says that it has started several processes, such as torchrun, a PyTorchJob of
 * Kubernetes, or Horovod's own with Gloo.
 *
 * @param numberName its variable for this process
 * @param number what that says; empty if it is not set
 * @param countName its variable for how many there are
 */
record ForeignLauncher(String numberName, String number, String countName, int count) {
    private static final List<List<String>> VARIABLES =
            List.of(List.of("RANK", "WORLD_SIZE"), List.of("HOROVOD_RANK", "HOROVOD_SIZE"));

    /** Why this process, which found no launcher of MPI's, must not go on as a job of its own; empty if it may. */
    static Optional<String> whyNotAlone(Map<String, String> environment) {
        return of(environment).map(ForeignLauncher::whyNotAlone);
    }

    /** Empty if no variable names a launcher, or it has started one process only. */
    private static Optional<ForeignLauncher> of(Map<String, String> environment) {
        return VARIABLES.stream()
                .filter(names -> environment.containsKey(names.get(1)))
                .map(names -> of(environment, names.get(0), names.get(1)))
                .filter(found -> found.count > 1)
                .findFirst();
    }

    private static ForeignLauncher of(Map<String, String> environment, String numberName, String countName) {
        String count = environment.getOrDefault(countName, "").strip();
        return new ForeignLauncher(
                numberName,
                environment.getOrDefault(numberName, "").strip(),
                countName,
                count.matches("\\d{1,9}") ? Integer.parseInt(count) : 0);
    }

    private String whyNotAlone() {
        String mine = number.isEmpty()
                ? countName + "=" + count
                : numberName + "=" + number + " of " + countName + "=" + count;
        return mine + " says that this process is one of " + count
                + ", as torchrun starts them, but neither mpirun nor srun has started this one, so MPI does not connect it,"
                + " and it would train by itself, as would each of them. For ranks without MPI set "
                + Setting.RENDEZVOUS.variable() + "=host:port on each, with rank 0's host and a free port there, and"
                + " HVD_BACKEND must not be mpi; or start the job once, by mpirun -np " + count
                + " COMMAND, " + HvdProgram.HOROVODRUN.eitherWay("-np " + count + " COMMAND")
                + "; if each is meant to be a job of its own, unset " + countName + " or set HVD_BACKEND=local";
    }
}
