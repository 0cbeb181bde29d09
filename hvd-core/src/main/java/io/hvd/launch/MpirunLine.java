package io.hvd.launch;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The mpirun line of a job: a pure function of settings and facts, every argument with its reason. */
record MpirunLine(String mpirun, List<Argument> arguments, List<String> command) {

    /** Column of the reasons in {@link #explained}. */
    private static final int WIDTH = 46;

    static MpirunLine of(String mpirun, Job job) {
        List<Argument> arguments = new ArrayList<>();
        if (job.machine().uid() == 0) {
            arguments.add(Argument.of("run by root, which Open MPI refuses otherwise", "--allow-run-as-root"));
        }
        arguments.addAll(new Placement(job).arguments());
        arguments.addAll(new Transports(job).arguments());
        arguments.addAll(ssh(job));
        arguments.addAll(output(job));
        arguments.addAll(Exports.arguments(job));
        if (!job.settings().mpiArguments().isEmpty()) {
            arguments.add(new Argument(job.settings().mpiArguments(), "--mpi-args"));
        }
        return new MpirunLine(mpirun, List.copyOf(arguments), job.settings().command());
    }

    /** What is started. */
    List<String> words() {
        return Stream.of(
                        Stream.of(mpirun),
                        arguments.stream().flatMap(argument -> argument.words().stream()),
                        command.stream())
                .flatMap(words -> words)
                .toList();
    }

    /** One argument per line with its reason, then the whole as one line for a shell. */
    String explained() {
        var text = new StringBuilder();
        for (Argument argument : arguments) {
            String words = ShellWords.join(argument.words());
            String fill = words.length() > WIDTH ? "\n" + " ".repeat(2 + WIDTH) : " ".repeat(WIDTH - words.length());
            text.append("  ")
                    .append(words)
                    .append(fill)
                    .append(" # ")
                    .append(argument.reason())
                    .append('\n');
        }
        return text.append(ShellWords.join(words())).append('\n').toString();
    }

    private static List<Argument> ssh(Job job) {
        List<String> words = new ArrayList<>();
        job.settings().sshPort().ifPresent(port -> words.addAll(List.of("-p", port.toString())));
        job.settings().sshIdentity().ifPresent(file -> words.addAll(List.of("-i", file)));
        if (words.isEmpty()) {
            return List.of();
        }
        String parameter = job.version().startsWithPrrte() ? "plm_ssh_args" : "plm_rsh_args";
        return List.of(
                Argument.of("ssh as asked for", job.version().startUpSwitch(), parameter, String.join(" ", words)));
    }

    private static List<Argument> output(Job job) {
        boolean prrte = job.version().startsWithPrrte();
        return job.settings().outputDirectory().stream()
                .map(folder -> prrte
                        ? Argument.of("output files asked for", "--output", "dir=" + folder)
                        : Argument.of("output files asked for", "--output-filename", folder))
                .toList();
    }
}
