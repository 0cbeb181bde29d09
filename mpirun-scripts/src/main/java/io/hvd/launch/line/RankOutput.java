package io.hvd.launch.line;

import java.util.List;
import java.util.stream.Stream;

/**
 * The words before a command that copy its output into files, the same under every MPI. A small fixed script
 * makes two pipes with a {@code tee} behind each and then becomes the command, so that the exit code and the
 * signals are the command's own. The tees outlive a SIGTERM, to write down the last words.
 */
final class RankOutput {

    private static final String SCRIPT = """
            dir=$1 width=$2; shift 2
            rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${HOROVOD_RANK:-0}}}}
            dir=$dir/rank.$(printf "%0${width}d" "$rank") && mkdir -p "$dir" || exit 73
            rm -f "$dir/.out" "$dir/.err"; mkfifo "$dir/.out" "$dir/.err" || exit 73
            (trap "" TERM INT HUP; exec <"$dir/.out"; rm -f "$dir/.out"; exec tee "$dir/stdout") &
            (trap "" TERM INT HUP; exec <"$dir/.err"; rm -f "$dir/.err"; exec tee "$dir/stderr" >&2) &
            exec "$@" >"$dir/.out" 2>"$dir/.err"
            """.strip().replace("&\n", "& ").replace("\n", "; ");

    private RankOutput() {}

    /** @param directory relative to where the ranks start, or absolute */
    static List<String> around(List<String> command, String directory, int ranks) {
        int width = Integer.toString(ranks - 1).length();
        return Stream.concat(
                        Stream.of("sh", "-c", SCRIPT, "horovodrun-output", directory, Integer.toString(width)),
                        command.stream())
                .toList();
    }
}
