package io.hvd.launch.hosts;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The way to the other hosts: the port and the key that the user has named. */
public record SshAccess(Optional<Integer> port, Optional<String> identity) {

    /**
     * Options with which ssh asks no questions: a prompt would hang a job that nobody looks at. It accepts a host that it
     * does not know, and refuses one whose key has changed.
     */
    private static final List<String> OPTIONS = List.of(
            "-o", "BatchMode=yes",
            "-o", "PasswordAuthentication=no",
            "-o", "StrictHostKeyChecking=accept-new",
            "-o", "LogLevel=ERROR",
            "-o", "ConnectTimeout=10");

    /** Options with which ssh ends when it has not heard of the host for so long. */
    private static final List<String> WATCHFUL = List.of("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3");

    /** The exit code of ssh if it does not reach a host; any other exit code is the remote command's. */
    public static final int NOT_REACHED = 255;

    /** The words that run a command on a host. */
    public List<String> call(String ssh, String host, String command) {
        return call(ssh, List.of(), host, command);
    }

    /** The words that run a command on a host which goes on for long, and in which the loss of the host is noticed. */
    public List<String> longCall(String ssh, String host, String command) {
        return call(ssh, WATCHFUL, host, command);
    }

    private List<String> call(String ssh, List<String> more, String host, String command) {
        List<String> words = new ArrayList<>(List.of(ssh));
        words.addAll(OPTIONS);
        words.addAll(more);
        words.addAll(words());
        words.addAll(List.of(host, command));
        return words;
    }

    /** The words for port and key, as ssh takes them, also from an mpirun that calls it. */
    public List<String> words() {
        List<String> words = new ArrayList<>();
        port.ifPresent(number -> words.addAll(List.of("-p", number.toString())));
        identity.ifPresent(file -> words.addAll(List.of("-i", file)));
        return words;
    }
}
