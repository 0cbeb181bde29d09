package io.hvd.launch.direct;

import io.hvd.config.Setting;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.line.RankCommand;
import io.hvd.launch.line.RankEnvironment;
import io.hvd.launch.line.RankLimit;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.options.ElasticSettings;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.SecretWords;
import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** The ranks of a job that the launcher starts without mpirun: a pure function of settings and facts. */
public final class DirectPlan {

    /** As Horovod's launcher tells its ranks. */
    private static final String GLOO = "gloo";

    private final LaunchFacts job;
    private final List<PlannedRank> ranks;
    private final RankCommand command;

    private DirectPlan(LaunchFacts job, List<PlannedRank> ranks, RankCommand command) {
        this.job = job;
        this.ranks = List.copyOf(ranks);
        this.command = command;
    }

    /**
     * The plan of a job.
     *
     * @param archive words for java about its class-data archive, and why
     * @param installed the Java of the command, if it is one and this machine has it
     * @throws UsageException if the job cannot be started like this
     */
    public static DirectPlan of(LaunchFacts job, Argument archive, Optional<InstalledJava> installed) {
        refuseWordsForMpirun("--mpi-args", Optional.of(job.settings().words().more()));
        refuseWordsForMpirun("--binding-args", job.settings().words().binding());
        for (Setting one : List.of(Setting.BACKEND, Setting.CPU_OPERATIONS)) {
            String value = job.machine().environment().getOrDefault(one.variable(), "");
            if (value.strip().equalsIgnoreCase("mpi")) {
                throw needsMpirun(one.variable() + "=" + value);
            }
        }
        RankLimit.require(job);
        return new DirectPlan(job, Placement.of(job), RankCommand.of(job, archive, installed));
    }

    private static void refuseWordsForMpirun(String flag, Optional<List<String>> words) {
        if (words.isPresent() && !words.get().isEmpty()) {
            throw needsMpirun(flag + " \"" + String.join(" ", words.get()) + "\"");
        }
    }

    private static UsageException needsMpirun(String what) {
        return new UsageException(
                "needs-mpirun",
                what + " is for mpirun, and without MPI horovodrun starts the ranks itself: leave it out, or start them"
                        + " with mpirun, by --mpi");
    }

    /** The sizes that the job may have, if it is elastic. */
    public Optional<ElasticSettings> elastic() {
        return job.settings().elastic();
    }

    LaunchFacts job() {
        return job;
    }

    List<PlannedRank> ranks() {
        return ranks;
    }

    List<String> command() {
        return command.words();
    }

    /** The words that are started on this machine for a rank, in a group that no terminal sends signals to. */
    List<String> words(PlannedRank rank) {
        Map<String, String> here = job.machine().environment();
        return rank.here()
                ? OwnGroup.of(command.words(), here, environment(rank, Map.of()))
                : OwnGroup.of(call(rank, RemoteRank.SHELL), here, here);
    }

    /** The words that run a command on another host, where a rank is. */
    List<String> call(PlannedRank rank, String remote) {
        boolean onPath = MpiInstall.onPath("ssh", job.machine().environment()).isPresent();
        return job.settings().ssh().longCall(onPath ? "ssh" : "/usr/bin/ssh", rank.host(), remote);
    }

    /**
     * The environment of a rank.
     *
     * @param ofJob variables that all ranks get of this run
     */
    Map<String, String> environment(PlannedRank rank, Map<String, String> ofJob) {
        Map<String, String> environment =
                new HashMap<>(rank.here() ? RankEnvironment.here(job) : RankEnvironment.elsewhere(job));
        environment.putAll(ofJob);
        environment.putAll(rank.variables());
        environment.put(Setting.CONTROLLER.variable(), GLOO);
        environment.putIfAbsent(Setting.CPU_OPERATIONS.variable(), GLOO); // another one is the ranks' to refuse
        return environment;
    }

    /** What is started for each rank, and why it is not as typed; no values but those of the place and of flags. */
    public String explained() {
        var text = new StringBuilder();
        command.notes()
                .forEach(note -> text.append("  # ").append(note.reason()).append('\n'));
        for (var assignment : job.settings().assignments()) {
            text.append("  ")
                    .append(SecretWords.hidden(assignment.variable() + "=" + assignment.value()))
                    .append(" # ")
                    .append(assignment.origin())
                    .append('\n');
        }
        if (!job.allRanksHere()) {
            text.append("  # to other hosts, through ssh: the command, and the variables ")
                    .append(String.join(
                            " ", new TreeSet<>(RankEnvironment.elsewhere(job).keySet())))
                    .append('\n');
        }
        ranks.forEach(rank -> text.append(explained(rank)).append('\n'));
        return text.toString();
    }

    private String explained(PlannedRank rank) {
        List<String> words = new ArrayList<>();
        rank.variables().forEach((name, value) -> words.add(name + "=" + value));
        List<String> call = call(rank, "");
        List<String> shown = rank.here() ? List.of() : call.subList(0, call.size() - 1);
        return "rank " + rank.rank() + ": " + String.join(" ", shown) + (shown.isEmpty() ? "" : " ")
                + ShellWords.join(words) + " " + ShellWords.join(SecretWords.hidden(command.words()));
    }
}
