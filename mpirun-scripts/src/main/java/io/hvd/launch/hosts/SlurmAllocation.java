package io.hvd.launch.hosts;

import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The nodes of the Slurm job around this shell, and how many tasks each may hold. mpirun reads the same variables.
 *
 * @param job its number
 * @param hosts empty if Slurm says nothing of tasks
 */
public record SlurmAllocation(String job, List<HostSlots> hosts) {
    /** The number of tasks that the job was asked to have; unset where only places for tasks were asked for. */
    public static final String COUNT = "SLURM_NTASKS";

    private static final String NODES = "SLURM_JOB_NODELIST";
    private static final String TASKS = "SLURM_TASKS_PER_NODE";

    /** Text before the first bracket, what is inside, and the rest. */
    private static final Pattern BRACKET = Pattern.compile("([^\\[]*)\\[([^\\]]*)\\](.*)");

    private static final Pattern RANGE = Pattern.compile("(\\d{1,9})-(\\d{1,9})");

    /** More than any cluster has; a list that stands for more is a mistake, and is not written out. */
    private static final int MOST_NODES = 100_000;

    private static final Pattern REPEATED = Pattern.compile("(\\d{1,6})(?:\\(x(\\d{1,6})\\))?");

    /**
     * Empty outside a Slurm job.
     *
     * @throws UsageException if its variables do not fit together
     */
    public static Optional<SlurmAllocation> of(Map<String, String> environment) {
        String job = environment.get("SLURM_JOB_ID");
        String nodes = environment.get(NODES);
        if (job == null || nodes == null) {
            return Optional.empty();
        }
        String tasks = environment.getOrDefault(TASKS, "");
        return Optional.of(new SlurmAllocation(job, tasks.isEmpty() ? List.of() : slots(nodes, tasks)));
    }

    /**
     * The tasks that srun would start: as many as {@code --ntasks} asked for, which may be fewer than the nodes can hold,
     * or one for every place of a task.
     */
    public Optional<Integer> tasks(Map<String, String> environment) {
        String asked = environment.getOrDefault(COUNT, "").strip();
        int places = HostSlots.total(hosts);
        int tasks = asked.matches("0*[1-9]\\d{0,8}") ? Integer.parseInt(asked) : places;
        return tasks > 0 ? Optional.of(tasks) : Optional.empty();
    }

    /** For a message. */
    public String name() {
        return "Slurm job " + job + (hosts.isEmpty() ? "" : " (" + HostSlots.join(hosts) + ")");
    }

    private static List<HostSlots> slots(String nodes, String tasks) {
        List<String> names = names(nodes);
        List<Integer> counts = counts(tasks);
        if (names.size() != counts.size()) {
            throw unreadable(NODES + "=" + nodes + " has " + names.size() + " nodes, but " + TASKS + "=" + tasks
                    + " is for " + counts.size());
        }
        List<HostSlots> hosts = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            hosts.add(new HostSlots(names.get(i), counts.get(i)));
        }
        return List.copyOf(hosts);
    }

    /** Expands {@code gpu[01-03,7],login} to the names of nodes, in order. */
    static List<String> names(String nodes) {
        List<String> names = new ArrayList<>();
        int begin = 0;
        int depth = 0;
        for (int i = 0; i <= nodes.length(); i++) {
            char c = i == nodes.length() ? ',' : nodes.charAt(i);
            depth += c == '[' ? 1 : c == ']' ? -1 : 0;
            if (c == ',' && (depth == 0 || i == nodes.length())) {
                names.addAll(expand(nodes.substring(begin, i), nodes));
                requireFew(names.size(), NODES, nodes);
                begin = i + 1;
            }
        }
        return names;
    }

    /** A name may have several brackets: the last one counts fastest. */
    private static List<String> expand(String name, String nodes) {
        Matcher parts = BRACKET.matcher(name);
        if (!parts.matches()) {
            if (!name.matches("[\\w.-]*")) {
                throw unreadable(NODES + " has \"" + name + "\", which is no name of a node");
            }
            return List.of(name);
        }
        List<String> rests = expand(parts.group(3), nodes);
        List<String> numbers = numbers(parts.group(2), nodes);
        requireFew((long) rests.size() * numbers.size(), NODES, nodes);
        List<String> names = new ArrayList<>();
        for (String number : numbers) {
            rests.forEach(rest -> names.add(parts.group(1) + number + rest));
        }
        return names;
    }

    /** Zeros in front of the first number of a range are kept for all. */
    private static List<String> numbers(String list, String nodes) {
        List<String> numbers = new ArrayList<>();
        for (String part : list.split(",")) {
            Matcher range = RANGE.matcher(part);
            if (!range.matches()) {
                numbers.add(single(part, nodes));
                continue;
            }
            int width = range.group(1).length();
            int first = Integer.parseInt(range.group(1));
            int last = Integer.parseInt(range.group(2));
            requireFew(numbers.size() + (long) last - first, NODES, nodes);
            for (int i = first; i <= last; i++) {
                numbers.add(String.format(Locale.ROOT, "%0" + width + "d", i));
            }
        }
        return numbers;
    }

    private static String single(String number, String nodes) {
        if (!number.matches("\\d{1,9}")) {
            throw unreadable(
                    NODES + "=" + nodes + " has \"" + number + "\" in brackets, which is no number and no range");
        }
        return number;
    }

    /** Expands {@code 2(x3),1} to 2, 2, 2, 1. */
    static List<Integer> counts(String tasks) {
        List<Integer> counts = new ArrayList<>();
        for (String part : tasks.split(",")) {
            Matcher repeated = REPEATED.matcher(part);
            if (!repeated.matches()) {
                throw unreadable(TASKS + "=" + tasks + ": \"" + part + "\" is not of the form 2 or 2(x3)");
            }
            int times = repeated.group(2) == null ? 1 : Integer.parseInt(repeated.group(2));
            requireFew(counts.size() + (long) times, TASKS, tasks);
            for (int i = 0; i < times; i++) {
                counts.add(Integer.valueOf(repeated.group(1)));
            }
        }
        return counts;
    }

    private static void requireFew(long nodes, String variable, String value) {
        if (nodes > MOST_NODES) {
            throw unreadable(variable + "=" + value + " is for more than " + MOST_NODES + " nodes");
        }
    }

    private static UsageException unreadable(String what) {
        return new UsageException("slurm-variables", what + "; name the hosts yourself, by -H");
    }
}
