package io.hvd.contract.program;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The actions of every rank of a job, in full: nothing is left to chance any more.
 *
 * @param ranks in the job
 * @param settings as environment variables
 * @param sets members of the process sets, by number; the first is all ranks
 * @param startingSets how many of them, after the first, are there from the start
 * @param needs strands without which a strand cannot be
 * @param scripts by rank
 */
public record Program(
        ProgramId id,
        int ranks,
        Map<String, String> settings,
        List<List<Integer>> sets,
        int startingSets,
        List<Op> ops,
        Map<Integer, Set<Integer>> needs,
        List<List<Action>> scripts) {

    public List<List<Integer>> startSets() {
        return sets.subList(1, 1 + startingSets);
    }

    /** All strands, ascending. */
    public Set<Integer> strands() {
        Set<Integer> strands = new TreeSet<>();
        scripts.forEach(script -> script.forEach(action -> strands.add(action.strand())));
        return strands;
    }

    /** This program without some strands, and without what cannot be without those. */
    public Program without(Collection<Integer> some) {
        Set<Integer> gone = new TreeSet<>(some);
        while (needs.entrySet().stream()
                .anyMatch(entry -> entry.getValue().stream().anyMatch(gone::contains) && gone.add(entry.getKey()))) {
            // until nothing is left that needs what is gone
        }
        List<List<Action>> left =
                scripts.stream().map(script -> without(script, gone)).toList();
        return new Program(id.without(gone), ranks, settings, sets, startingSets, ops, needs, left);
    }

    private static List<Action> without(List<Action> script, Set<Integer> gone) {
        List<Action> left = new ArrayList<>();
        for (Action action : script) {
            if (!gone.contains(action.strand())) {
                left.add(new Action(
                        action.act(), action.strand(), action.op(), action.amount(), without(action.body(), gone)));
            }
        }
        return left;
    }

    /** Milliseconds that all ranks together compute, and that barriers may wait. */
    long longestMillis() {
        long computing = scripts.stream().mapToLong(Program::computing).sum();
        Set<Integer> used = new TreeSet<>();
        scripts.forEach(script -> collectOps(script, used));
        return computing
                + used.stream().mapToLong(op -> ops.get(op).limitMillis()).sum();
    }

    public static long computing(List<Action> script) {
        return script.stream()
                .mapToLong(action -> computing(action.body())
                        + (action.act() == Action.Act.COMPUTE || action.act() == Action.Act.PHASE
                                ? action.amount()
                                : 0))
                .sum();
    }

    private static void collectOps(List<Action> script, Set<Integer> used) {
        for (Action action : script) {
            if (action.isOfOp()) {
                used.add(action.op());
            }
            collectOps(action.body(), used);
        }
    }

    /** Operations that are asked for, all ranks together. */
    public int operations() {
        Set<Integer> used = new TreeSet<>();
        scripts.forEach(script -> collectOps(script, used));
        return used.size();
    }

    /** For whoever has to understand it. */
    public String text() {
        StringBuilder text = new StringBuilder(
                "program " + id + " for " + ranks + " ranks, settings " + new TreeMap<>(settings) + "\n");
        for (int set = 1; set < sets.size(); set++) {
            text.append("  set ").append(set).append(" of ").append(sets.get(set));
            text.append(set <= startingSets ? ", from the start\n" : "\n");
        }
        Set<Integer> used = new TreeSet<>();
        scripts.forEach(script -> collectOps(script, used));
        Map<String, Integer> shown = new HashMap<>();
        for (int op : used) {
            String words = ops.get(op).toString().replaceFirst("#\\d+ ", "");
            Integer same = shown.putIfAbsent(words, op);
            text.append("  #")
                    .append(op)
                    .append(" ")
                    .append(same == null ? words : "as #" + same)
                    .append("\n");
        }
        for (int rank = 0; rank < ranks; rank++) {
            text.append("  rank ")
                    .append(rank)
                    .append(": ")
                    .append(folded(scripts.get(rank)))
                    .append("\n");
        }
        return text.toString();
    }

    private static String folded(List<Action> script) {
        return script.stream().map(action -> action.strand() + ": " + action).collect(Collectors.joining("; "));
    }
}
