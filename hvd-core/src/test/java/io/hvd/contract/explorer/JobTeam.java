package io.hvd.contract.explorer;

import io.hvd.contract.explorer.Finding.Property;
import io.hvd.contract.program.JobSettings;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramGenerator;
import io.hvd.contract.program.ProgramId;
import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs programs in the ranks of a job: one after the other in the same processes, or one alone. */
public final class JobTeam implements Team {
    private final Composition composition;
    private final Starter starter;

    /** Starts a job, on this host or on others. */
    public interface Starter {
        /** @param main with its arguments, a program of the test class path */
        Job start(Composition composition, long limitSeconds, Map<String, String> settings, String... main);
    }

    public JobTeam(Composition composition, Starter starter) {
        this.composition = composition;
        this.starter = starter;
    }

    public static JobTeam here(Composition composition) {
        return new JobTeam(
                composition,
                (what, limitSeconds, settings, args) ->
                        Job.horovodrun(limitSeconds, what.processes(), settings, ExplorerRank.class, args));
    }

    @Override
    public Composition composition() {
        return composition;
    }

    @Override
    public Outcome run(Program program) {
        long begun = System.nanoTime();
        Job job = starter.start(
                composition,
                60 + 2 * ThreadTeam.limitMillis(program) / 1_000,
                settings(program.id()),
                composition.toString(),
                program.id().toString());
        List<Outcome> outcomes = outcomes(job);
        return outcomes.isEmpty()
                ? new Outcome(program, List.of(ended(program, job)), 0, (System.nanoTime() - begun) / 1e9)
                : outcomes.get(0);
    }

    @Override
    public List<Outcome> runSome(ProgramId first, int count, long seconds) {
        Job job = starter.start(
                composition,
                seconds + 300,
                settings(first),
                composition.toString(),
                first.pace().toString(),
                String.valueOf(first.seed()),
                String.valueOf(count),
                String.valueOf(seconds));
        return outcomes(job);
    }

    private Map<String, String> settings(ProgramId id) {
        Map<String, String> settings = new TreeMap<>(JobSettings.of(id));
        settings.putAll(composition.settings());
        settings.put("HVD_THREADS_PER_RANK", "1");
        return settings;
    }

    /** Returns the outcomes of all programs that the job has begun. */
    private List<Outcome> outcomes(Job job) {
        List<Outcome> outcomes = new ArrayList<>();
        List<Finding> findings = new ArrayList<>();
        Program current = null;
        for (String line : job.output().lines().toList()) {
            if (line.contains(ExplorerRank.BEGINS)) {
                current = ProgramGenerator.write(ProgramId.of(rest(line, ExplorerRank.BEGINS)), composition.ranks());
            } else if (line.contains(ExplorerRank.FOUND)) {
                String[] words = rest(line, ExplorerRank.FOUND).split(" ", 3);
                findings.add(new Finding(Property.valueOf(words[0]), Boolean.parseBoolean(words[1]), words[2]));
            } else if (line.contains(ExplorerRank.ENDS)) {
                String[] words = rest(line, ExplorerRank.ENDS).split(" ");
                outcomes.add(new Outcome(
                        current, List.copyOf(findings), Long.parseLong(words[1]), Long.parseLong(words[2]) / 1e3));
                findings.clear();
                current = null;
            }
        }
        if (current != null) {
            findings.add(ended(current, job));
            outcomes.add(new Outcome(current, List.copyOf(findings), 0, job.seconds()));
        } else if (job.exitCode() != 0 && outcomes.isEmpty()) {
            throw new AssertionError("the job of " + composition + " ended with " + job.exitCode()
                    + ", outside of any program:\n" + job.output());
        } else if (job.exitCode() != 0) {
            outcomes.add(endedAfter(outcomes.remove(outcomes.size() - 1), job));
        }
        return outcomes;
    }

    /** The last word of its first rank was ahead of what another one found. */
    private static Outcome endedAfter(Outcome last, Job job) {
        List<Finding> findings = new ArrayList<>(last.findings());
        findings.add(ended(last.program(), job));
        return new Outcome(last.program(), List.copyOf(findings), last.lagMillis(), last.seconds());
    }

    /** horovodrun marks the lines of each rank. */
    private static String rest(String line, String mark) {
        return line.substring(line.indexOf(mark) + mark.length()).strip();
    }

    private static Finding ended(Program program, Job job) {
        boolean stuck = job.output().contains(ExplorerRank.STUCK);
        boolean certain = stuck || !JobSettings.endsStallsEarly(program.settings());
        String what = "the job ended with " + job.exitCode() + " after " + job.seconds() + " s:\n" + job.output();
        return new Finding(Property.COMES_TO_ITS_END, certain, what);
    }
}
