package io.hvd.job;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.job.failure.Excerpt;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.spi.BackendProvider;
import io.hvd.transport.tcp.TaskMeeting;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A rank that is a thread which the scheduler of a cluster has started, perhaps beside others in one process. It shares
 * nothing with them but the process, which goes on whatever becomes of the rank.
 */
public final class TaskRank {
    private final TaskPlace place;
    private final JobOptions options;

    public TaskRank(TaskPlace place, JobOptions options) {
        this.place = place;
        this.options = options;
    }

    /**
     * Meets the other ranks, joins, runs the program, and leaves. A program that throws ends the job for all of its ranks.
     *
     * @throws io.hvd.error.HvdException if the ranks do not find each other, or another rank has failed
     * @throws Exception that the program has thrown
     */
    public <R> R run(TaskScheduler scheduler, RankProgram<R> program) throws Exception {
        HvdConfig config = settings(Map.of()).config();
        ProcessJob.apply(config);
        var cancellation = new TaskCancellation();
        try (TaskMeeting meeting = met(scheduler, config);
                TaskWatch watch =
                        new TaskWatch("the task of rank " + place.rank(), scheduler.cancelled(), cancellation)) {
            JobSettings settings = settings(meeting.variables());
            return run(cancellation.joining(() -> joined(settings), Membership::giveUpFor), program);
        } finally {
            cancellation.over();
        }
    }

    /**
     * Joins the other ranks where a launcher lets them meet.
     *
     * @param meeting its address, in the form of {@link io.hvd.net.LauncherAddress}
     */
    public Membership joinAt(String meeting) {
        JobSettings settings = settings(Map.of(Setting.RENDEZVOUS.variable(), RankPlace.LAUNCHER + meeting));
        ProcessJob.apply(settings.config());
        return joined(settings);
    }

    private JobSettings settings(Map<String, String> meeting) {
        Map<String, String> variables = new HashMap<>(meeting);
        variables.put("HOROVOD_RANK", String.valueOf(place.rank()));
        variables.put("HOROVOD_SIZE", String.valueOf(place.size()));
        return JobSettings.ofTask(options, variables);
    }

    /** The settings of a task of which nobody knows yet which rank it is. */
    public static HvdConfig configWithoutPlace(JobOptions options) {
        return JobSettings.ofTask(options, Map.of()).config();
    }

    private TaskMeeting met(TaskScheduler scheduler, HvdConfig config) throws Exception {
        if (place.size() == 1) {
            return TaskMeeting.ofNobody();
        }
        if (scheduler.secret().length == 0) {
            throw new IllegalArgumentException(
                    "task of rank " + place.rank() + " of " + place.size() + " with an empty secret");
        }
        return TaskMeeting.hold(place.rank(), scheduler.secret(), scheduler.exchange(), config);
    }

    private Membership joined(JobSettings settings) {
        HvdConfig config = settings.config();
        OpenFiles.require(config, Path.of("/proc"));
        if (config.started().withOthers()) {
            config.control().encryption().requireKey();
        }
        StartupHooks hooks = StartupHooks.begin();
        try {
            Membership membership = request(settings).join(List.of(), options.processSets(), hooks);
            takeGpus(membership);
            StartLog.write(membership, membership.topology().localSize());
            return membership;
        } catch (RuntimeException | Error e) {
            hooks.awaitAfter(e);
            throw e;
        }
    }

    private JoinRequest request(JobSettings settings) {
        HvdConfig config = settings.config();
        BackendProvider provider = BackendSelection.ofTask(place, config);
        return JoinRequest.bySockets(provider, settings, ThrowToProgram.ofProcess());
    }

    /** The others have joined, and would wait for a rank that has no GPU. */
    private void takeGpus(Membership membership) {
        try {
            membership.assign(GpuAssignment.ofTask(place, membership.topology(), membership.config()));
        } catch (RuntimeException e) {
            leave(membership, e);
            throw e;
        }
    }

    private static <R> R run(Membership membership, RankProgram<R> program) throws Exception {
        try {
            R result = program.run(membership);
            membership.close(true);
            return result;
        } catch (Throwable cause) {
            leave(membership, cause);
            throw cause;
        }
    }

    private static void leave(Membership membership, Throwable cause) {
        membership.giveUpFor("rank " + membership.topology().rank() + " threw " + Excerpt.summary(cause));
        try {
            membership.close(true);
        } catch (RuntimeException e) {
            if (e != cause) {
                cause.addSuppressed(e);
            }
        } finally {
            membership.stopWatching();
        }
    }
}
