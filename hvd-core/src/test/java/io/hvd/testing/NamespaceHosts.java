package io.hvd.testing;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Hosts of this machine: network namespaces with an sshd each, with their own names and their own shared memory. They
 * need root, and what a machine without such tests has no use for; where that is missing, the test is skipped.
 *
 * @param folder for their files; has the key {@code id} that they let in, and the key {@code stranger}
 */
public record NamespaceHosts(Path folder) {

    /** Where their sshd listens. */
    public static final String PORT = "2222";

    /** They answer when this returns. */
    public void start(String... names) {
        start("up", names);
    }

    /** The same, with IPv6 alone, at fd71::1, fd71::2 and so on. */
    public void startWithoutIpv4(String... names) {
        start("up6", names);
    }

    private void start(String how, String... names) {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs root, to make network namespaces");
        for (String program : List.of("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/nsenter")) {
            assumeTrue(
                    Files.isExecutable(Path.of(program)),
                    "needs " + program + ": apt-get install openssh-server iproute2");
        }
        List<String> words = new ArrayList<>(List.of(how));
        words.addAll(List.of(names));
        Job up = script(words);
        if (up.exitCode() != 0) {
            stop();
        }
        assumeTrue(up.exitCode() == 0, () -> "this machine allows no network namespaces: " + up.output());
    }

    public void stop() {
        if (Files.exists(folder.resolve("hosts"))) {
            script(List.of("down"));
        }
    }

    /** The key that all of them let in. */
    public String key() {
        return folder.resolve("id").toString();
    }

    /** The words that become a command on one of them. */
    public List<String> on(String host, List<String> command) {
        List<String> words = new ArrayList<>(List.of(path(), folder.toString(), "on", host));
        words.addAll(command);
        return words;
    }

    /** Pulls a host's network cable. */
    public void cut(String host) {
        require(script(List.of("cut", host)));
    }

    /** Puts it back. */
    public void mend(String host) {
        require(script(List.of("mend", host)));
    }

    private static void require(Job done) {
        if (done.exitCode() != 0) {
            throw new AssertionError(done.output());
        }
    }

    private Job script(List<String> args) {
        List<String> words = new ArrayList<>(List.of(path(), folder.toString()));
        words.addAll(args);
        return Job.run(words, Map.of());
    }

    /** The script is in a jar for the tests of other modules, so it is copied from there. */
    private String path() {
        Path script = folder.resolve("namespaces.sh");
        if (!Files.exists(script)) {
            try (InputStream in = NamespaceHosts.class.getResourceAsStream("namespaces.sh")) {
                Files.copy(in, script);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            script.toFile().setExecutable(true);
        }
        return script.toString();
    }
}
