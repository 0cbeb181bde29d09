package io.hvd.launch.direct;

import io.hvd.launch.mpi.MpiInstall;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Gives a rank a process group of its own, to which no terminal sends signals. A session of its own would do that too,
 * but Linux lets sessions take turns on a core (autogroup): ranks that share cores would wait for whole time slices.
 */
final class OwnGroup {
    /** Perl is told by a variable, which is not the rank's, to say nothing about a locale that the machine lacks. */
    private static final String QUIET = "PERL_BADLANG=0";

    private static final String SET_GROUP = "delete $ENV{PERL_BADLANG}; setpgrp; exec { $ARGV[0] } @ARGV;"
            + " print STDERR \"$ARGV[0]: $!\\n\"; exit 127";

    private OwnGroup() {}

    /**
     * The words that start a command in a group of its own and keep its process number. Where neither setpgid of
     * util-linux 2.40 nor Perl is on PATH, it gets a session, and without setsid it stays in the launcher's group.
     */
    static List<String> of(List<String> command, Map<String, String> environment) {
        List<String> starter = only("setpgid", environment)
                .or(() -> perl(environment))
                .or(() -> only("setsid", environment))
                .orElse(List.of());
        return Stream.concat(starter.stream(), command.stream()).toList();
    }

    private static Optional<List<String>> only(String program, Map<String, String> environment) {
        return MpiInstall.onPath(program, environment).map(path -> List.of(path.toString()));
    }

    private static Optional<List<String>> perl(Map<String, String> environment) {
        Optional<Path> env = MpiInstall.onPath("env", environment);
        return MpiInstall.onPath("perl", environment)
                .filter(perl -> env.isPresent())
                .map(perl -> List.of(env.get().toString(), QUIET, perl.toString(), "-e", SET_GROUP));
    }
}
