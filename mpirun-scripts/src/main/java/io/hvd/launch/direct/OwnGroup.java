package io.hvd.launch.direct;

import io.hvd.launch.mpi.MpiInstall;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Gives a rank a process group of its own, and takes it off the launcher's terminal, which then sends it no signals, and
 * which it may still read. A session of its own would do that too, but Linux lets sessions take turns on a core
 * (autogroup): ranks that share cores would wait for whole time slices.
 */
final class OwnGroup {
    /** TIOCNOTTY of Linux, by which a process gives up its terminal. */
    private static final String GIVE_UP_TERMINAL = "0x5422";

    private static final String SET_GROUP = "if (open my $terminal, '+<', '/dev/tty') { ioctl $terminal, "
            + GIVE_UP_TERMINAL
            + ", 0; close $terminal } setpgrp; delete $ENV{PERL_BADLANG}; { exec { $ARGV[0] } @ARGV }"
            + " my $why = $! + 0; print STDERR \"$ARGV[0]: $!\\n\"; exit($why == 2 ? 127 : 126)";

    private OwnGroup() {}

    /**
     * The words that start a command in a group of its own and keep its process number. Without Perl on PATH, or if
     * variables for Perl are set, it gets a session, and without setsid it stays in the launcher's group.
     *
     * @param environment of the launcher
     * @param itsEnvironment of the process that is started
     */
    static List<String> of(List<String> command, Map<String, String> environment, Map<String, String> itsEnvironment) {
        List<String> words = new ArrayList<>();
        boolean free = itsEnvironment.keySet().stream().noneMatch(name -> name.startsWith("PERL"));
        String env = path("env", environment);
        String perl = path("perl", environment);
        String setsid = path("setsid", environment);
        if (free && !env.isEmpty() && !perl.isEmpty()) {
            // The variable, which Perl then takes out again, has it say nothing about a locale that the machine lacks.
            words.addAll(List.of(env, "PERL_BADLANG=0", perl, "-e", SET_GROUP, "--"));
        } else if (!setsid.isEmpty()) {
            words.add(setsid);
        }
        words.addAll(command);
        return words;
    }

    /** Empty if it is not there. */
    private static String path(String program, Map<String, String> environment) {
        return MpiInstall.onPath(program, environment).map(Object::toString).orElse("");
    }
}
