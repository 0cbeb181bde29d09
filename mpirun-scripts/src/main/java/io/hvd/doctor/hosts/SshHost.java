package io.hvd.doctor.hosts;

import io.hvd.doctor.checks.Diagnosis;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.network.MeasuredLink;
import io.hvd.doctor.network.OwnThreads;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.words.ShellWords;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Another host: the same program there, started by ssh and talked to over its standard input and output. It ends
 * when that input ends, so closing this, or the death of this process, leaves nothing behind.
 */
public final class SshHost implements ExaminedHost {

    /** The exit code of {@link DoctorProgram#remote} where it finds no java. */
    private static final int NO_JAVA = 3;
    /** The script's own "nothing is built yet"; see mpirun-scripts/hvd-doctor. */
    private static final int NOT_BUILT = 2;
    /** A shell's for a program that is not there, or cannot be run. */
    private static final int NOT_FOUND = 127;

    private static final int NOT_EXECUTABLE = 126;

    private static final int LIMIT_SECONDS = 30;
    private static final int LINES_KEPT = 5;

    private final String ssh;
    private final String host;
    private final DoctorProgram program;
    private final List<String> words;
    private final SshAccess access;
    private final int limitSeconds;
    private final Deque<String> said = new ArrayDeque<>();
    private Process process;
    private BufferedReader in;
    private PrintStream out;

    /**
     * @param path this host's PATH; what it has of java the others may have too
     */
    public SshHost(String host, String ssh, SshAccess access, DoctorProgram program, String path) {
        this(host, ssh, access, program, path, LIMIT_SECONDS);
    }

    /** @param limitSeconds for each answer */
    SshHost(String host, String ssh, SshAccess access, DoctorProgram program, String path, int limitSeconds) {
        this.limitSeconds = limitSeconds;
        this.ssh = ssh;
        this.host = host;
        this.program = program;
        this.access = access;
        String remote = "found=$PATH; PATH=$PATH:" + ShellWords.join(List.of(path)) + "; export PATH; "
                + program.remote() + " --facts \"$found\"";
        this.words = access.call(ssh, host, "exec sh -c " + ShellWords.join(List.of(remote)));
    }

    @Override
    public Facts open(AgentMessages.Opening opening) throws HostException, InterruptedException {
        try {
            process = new ProcessBuilder(words).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw failed(Diagnosis.NOT_REACHED, ssh + " cannot be started: " + e.getMessage());
        }
        in = process.inputReader(StandardCharsets.UTF_8);
        out = new PrintStream(process.getOutputStream(), false, StandardCharsets.UTF_8);
        return ask(opening, Facts.class);
    }

    @Override
    public List<MeasuredLink> measure(AgentMessages.Errand errand) throws HostException, InterruptedException {
        return ask(errand, AgentMessages.Links.class).links();
    }

    private <T> T ask(Object question, Class<T> answer) throws HostException, InterruptedException {
        AgentMessages.send(out, question);
        try {
            Optional<T> given = CompletableFuture.supplyAsync(() -> next(answer), OwnThreads.OF_DOCTOR)
                    .get(limitSeconds, TimeUnit.SECONDS);
            return given.orElseThrow(this::ended);
        } catch (TimeoutException e) {
            process.destroyForcibly();
            throw failed(Diagnosis.NO_ANSWER, "no answer within " + limitSeconds + " s");
        } catch (ExecutionException e) {
            process.destroyForcibly();
            throw failed(Diagnosis.NO_ANSWER, e.getCause().toString());
        }
    }

    /** Empty at the end of what the host says. */
    private <T> Optional<T> next(Class<T> type) {
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Optional<T> message = AgentMessages.read(line, type);
                if (message.isPresent()) {
                    return message;
                }
                keep(line);
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty(); // ssh has ended, and says why by its exit code
        }
    }

    private void keep(String line) {
        said.add(line);
        if (said.size() > LINES_KEPT) {
            said.remove();
        }
    }

    /** The host has said all it says, and that was no answer. */
    private HostException ended() {
        String text = said.isEmpty() ? "it says nothing" : String.join("; ", said);
        return switch (process.onExit().join().exitValue()) {
            case SshAccess.NOT_REACHED -> failed(Diagnosis.NOT_REACHED, "ssh says: " + text);
            case NO_JAVA -> failed(Diagnosis.NO_JAVA, text);
            case NOT_BUILT, NOT_FOUND, NOT_EXECUTABLE -> failed(Diagnosis.NO_DOCTOR, text);
            default -> failed(Diagnosis.NO_ANSWER, "exit code " + process.exitValue() + ": " + text);
        };
    }

    private HostException failed(Diagnosis diagnosis, String found) {
        return new HostException(new Finding(diagnosis, List.of(host), found, command(diagnosis)));
    }

    private String command(Diagnosis diagnosis) {
        return switch (diagnosis) {
            case NO_DOCTOR -> program.copyTo(host);
            case NO_JAVA -> ssh(List.of("apt-get install -y openjdk-17-jre-headless"));
            case NO_ANSWER -> ssh(program.words());
            default -> ssh(List.of("true"));
        };
    }

    private String ssh(List<String> command) {
        List<String> line = new ArrayList<>(List.of("ssh"));
        line.addAll(access.words());
        line.add(host);
        line.addAll(command);
        return ShellWords.join(line);
    }

    /** The other side ends by itself after this. */
    void endInput() {
        out.close();
    }

    CompletableFuture<Process> onExit() {
        return process.onExit();
    }

    @Override
    public void close() {
        if (process != null) {
            endInput();
            process.destroy();
        }
    }
}
