package io.hvd.launch;

import io.hvd.error.HvdException;
import io.hvd.launch.failure.JobFailureReport;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.hosts.OtherHosts;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.options.RestartSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A job that is started again when it has failed, if the user wants it, on the hosts that are left; its program goes on from
 * its last checkpoint. One thread runs it; another one may end it.
 */
final class RestartedJob implements AutoCloseable {

    private final LaunchEnvironment around;
    private final PrintStream err;
    private final LaunchSettings first;
    /** Those of the latest start. */
    private LaunchSettings settings;

    private JobLaunch current;
    /** The thread that prepares another start; null if none does. */
    private Thread preparing;

    private boolean ended;

    private RestartedJob(LaunchSettings settings, LaunchEnvironment around, PrintStream err, JobLaunch first) {
        this.first = settings;
        this.settings = settings;
        this.around = around;
        this.err = err;
        this.current = first;
    }

    /**
     * Looks at everything; nothing is started yet.
     *
     * @throws UsageException if the job cannot be started
     */
    static RestartedJob prepare(LaunchSettings settings, LaunchEnvironment around, PrintStream err)
            throws IOException, InterruptedException {
        return new RestartedJob(settings, around, err, JobLaunch.prepare(settings, numbered(around, settings, 0), err));
    }

    /** Runs the job until it ends well, is ended from here, or must not be started again. */
    JobLaunch.End run() throws IOException, InterruptedException {
        JobLaunch.End end = runCurrent();
        int limit = first.restarts().map(RestartSettings::limit).orElse(0);
        for (int restart = 1; restart <= limit && end.failure().isPresent(); restart++) {
            if (!beginsAgain(restart, end.failure().get())) {
                return end;
            }
            end = runCurrent();
        }
        return end;
    }

    private JobLaunch.End runCurrent() throws IOException, InterruptedException {
        try {
            return current().run();
        } catch (InterruptedException e) {
            if (hasEnded()) {
                return new JobLaunch.End(1, Optional.empty()); // before it began
            }
            throw e;
        }
    }

    /** @return false if there is nothing to start it on, or it is to end */
    private boolean beginsAgain(int restart, JobFailureReport failure) throws IOException, InterruptedException {
        RestartSettings restarts = first.restarts().orElseThrow();
        if (!mayPrepare()) {
            return false;
        }
        try {
            LaunchSettings next = onHostsThatAreLeft(restarts, restart);
            if (!takesOver(JobLaunch.prepare(next, numbered(around, next, restart), err), next)) {
                return false;
            }
        } catch (InterruptedException
                | IllegalStateException e) { // no thread may be left for the end of a JVM that is ending
            if (hasEnded()) {
                return false;
            }
            throw e;
        } catch (UsageException | HvdException e) {
            err.println("horovodrun: the job is not started again: " + e.getMessage());
            return false;
        } finally {
            hasPrepared();
        }
        err.print(failure.text());
        err.println("horovodrun: restart " + restart + " of " + restarts.limit() + ", with " + settings.ranks()
                + " ranks" + (settings.hosts().isEmpty() ? "" : " on " + HostSlots.join(settings.hosts())));
        return true;
    }

    /** Hosts that were left out before may be there again. */
    private LaunchSettings onHostsThatAreLeft(RestartSettings restarts, int restart) throws InterruptedException {
        List<HostSlots> named =
                restarts.discovery().map(script -> script.first()).orElse(first.hosts());
        if (named.isEmpty()) {
            return first.again(restart, first.ranks(), named); // mpirun knows its hosts from elsewhere
        }
        var machine = new MachineSurvey(Path.of("/"), around.environment()).survey(named);
        List<HostSlots> left = new OtherHosts(named, first.ssh(), first.checks(), machine).reached(err);
        return first.again(restart, restarts.ranks(left), left);
    }

    /** The ranks learn from torchrun's variables how often the job was started again. */
    private static LaunchEnvironment numbered(LaunchEnvironment around, LaunchSettings settings, int restart) {
        Optional<RestartSettings> restarts = settings.restarts();
        if (restarts.isEmpty()) {
            return around;
        }
        Map<String, String> environment = new HashMap<>(around.environment());
        environment.put("TORCHELASTIC_RESTART_COUNT", String.valueOf(restart));
        environment.put(
                "TORCHELASTIC_MAX_RESTARTS", String.valueOf(restarts.get().limit()));
        return new LaunchEnvironment(environment, around.directory(), around.reads(), around.takesResults());
    }

    /** This thread is going to prepare another start, unless there is to be none. */
    private synchronized boolean mayPrepare() {
        if (!ended) {
            preparing = Thread.currentThread();
        }
        return !ended;
    }

    /** An interrupt that was to end the preparation is not left to the program that goes on with this thread. */
    private synchronized void hasPrepared() {
        preparing = null;
        if (ended) {
            Thread.interrupted();
        }
    }

    private synchronized boolean hasEnded() {
        return ended;
    }

    private synchronized boolean takesOver(JobLaunch next, LaunchSettings theirs) throws IOException {
        if (ended) {
            next.close();
            return false;
        }
        current.close();
        current = next;
        settings = theirs;
        return true;
    }

    private synchronized JobLaunch current() {
        return current;
    }

    /** The number of ranks of the latest start. */
    int ranks() {
        return settings.ranks();
    }

    /** The folder in which the ranks' results lie once the job has ended. */
    Path folder() {
        return current().folder();
    }

    /** Hands a signal on to the ranks. */
    void send(String signal) {
        current().send(signal);
    }

    /** Ends the job, if it runs; what it has left can still be read. */
    synchronized void stop() {
        noMore();
        current.stop();
    }

    private void noMore() {
        ended = true;
        if (preparing != null) {
            preparing.interrupt();
        }
    }

    /** Ends the job and deletes what it has left; safe at any time. */
    synchronized void end() {
        noMore();
        current.end();
    }

    @Override
    public void close() throws IOException {
        current().close();
    }
}
