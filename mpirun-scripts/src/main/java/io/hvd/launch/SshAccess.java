package io.hvd.launch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** How the other hosts are reached: the port and the key that the user has named. */
public record SshAccess(Optional<Integer> port, Optional<String> identity) {

    /**
     * Without a question to anybody: a prompt would hang a job that nobody looks at. A host that was never seen is
     * taken at its word; one whose key has changed is refused.
     */
    private static final List<String> OPTIONS = List.of(
            "-o", "BatchMode=yes",
            "-o", "PasswordAuthentication=no",
            "-o", "StrictHostKeyChecking=accept-new",
            "-o", "LogLevel=ERROR",
            "-o", "ConnectTimeout=10");

    /** What ssh itself ends with where it does not reach a host; any other exit code is the remote command's. */
    public static final int NOT_REACHED = 255;

    /** The words that run a command on a host. */
    public List<String> call(String ssh, String host, String command) {
        List<String> words = new ArrayList<>(List.of(ssh));
        words.addAll(OPTIONS);
        words.addAll(words());
        words.addAll(List.of(host, command));
        return words;
    }

    /** For ssh, and for an mpirun that calls it. */
    public List<String> words() {
        List<String> words = new ArrayList<>();
        port.ifPresent(number -> words.addAll(List.of("-p", number.toString())));
        identity.ifPresent(file -> words.addAll(List.of("-i", file)));
        return words;
    }
}
