package io.hvd.contract.program;

import io.hvd.contract.program.ProgramId.Pace;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Generates a random program: steps that repeat until the ranks carry them out without negotiating, and deviations from
 * them. Each rank makes its calls of a step in an order of its own, as far as the program can still end.
 */
public final class ProgramGenerator {
    private static final int TRIES = 8;
    /** One in 15,000 drafts never ends, because what was due later in it no longer fits together. */
    private static final int DRAFTS = 8;

    private final ProgramId id;
    private final int ranks;
    private final Draw draw;
    private final Map<String, String> settings;
    private final List<List<Integer>> sets = new ArrayList<>();
    private final Operations operations;
    private final Deviations deviations;
    private final List<List<Action>> scripts = new ArrayList<>();
    /** The operations that are due in a later step. */
    private final Map<Integer, List<Sequence>> later = new TreeMap<>();

    private int startingSets;
    private int step;

    private ProgramGenerator(ProgramId id, int ranks, int draft) {
        this.id = id;
        this.ranks = ranks;
        this.draw = new Draw(Draw.mixed(id.seed(), 7 * ranks + id.pace().ordinal() + 1_000 * draft));
        this.settings = JobSettings.of(id);
        sets.add(IntStream.range(0, ranks).boxed().toList());
        this.operations = new Operations(draw, sets, JobSettings.mostBytes(settings));
        this.deviations = new Deviations(
                draw, operations, sets, ranks, id.pace() == Pace.SLOW, JobSettings.endsStallsEarly(settings));
        for (int rank = 0; rank < ranks; rank++) {
            scripts.add(new ArrayList<>());
        }
    }

    public static Program write(ProgramId id, int ranks) {
        Program whole = IntStream.range(0, DRAFTS)
                .mapToObj(draft -> new ProgramGenerator(id, ranks, draft).write())
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow(
                        () -> new IllegalStateException("no draft of program " + id + " for " + ranks + " ranks ends"));
        return id.left().isEmpty() ? whole : whole.without(id.left());
    }

    /** Empty if the program would never end. */
    private Optional<Program> write() {
        if (draw.chance(0.15)) {
            addStartingSets();
        }
        int segments = id.pace() == Pace.SLOW ? 1 : draw.between(1, 3);
        for (int segment = 0; segment < segments; segment++) {
            segment(new Body(draw, operations, deviations, ranks, segment));
        }
        while (!later.isEmpty()) {
            step(List.of());
        }
        if (!Ending.isReached(operations.all(), scripts)) {
            return Optional.empty();
        }
        return Optional.of(new Program(
                ProgramId.of(id.pace(), id.seed()),
                ranks,
                settings,
                sets,
                startingSets,
                operations.all(),
                deviations.needs(),
                scripts));
    }

    private void addStartingSets() {
        for (int i = draw.between(1, 2); i > 0; i--) {
            startingSets += deviations.newMembers().isPresent() ? 1 : 0;
        }
    }

    /** Clean steps and then some that deviate, more than once. */
    private void segment(Body body) {
        boolean slow = id.pace() == Pace.SLOW;
        int locked = JobSettings.planSteps(settings) + 1;
        int rounds = slow ? draw.between(1, 2) : draw.between(1, 4);
        for (int round = 0; round < rounds; round++) {
            int clean = slow || draw.chance(0.75) ? locked + draw.below(4) : draw.below(locked);
            for (int i = 0; i < clean; i++) {
                step(List.of(body.step(false)));
            }
            for (int i = slow ? 1 : draw.between(1, 3); i > 0; i--) {
                step(deviating(body));
            }
        }
        step(List.of(body.step(false)));
    }

    private List<Sequence> deviating(Body body) {
        List<Sequence> chosen = new ArrayList<>();
        deviations.begin(step);
        if (id.pace() == Pace.SLOW) {
            deviations.slow(step).forEach(sequence -> addIfItGoes(chosen, sequence));
        }
        for (int i = draw.between(id.pace() == Pace.SLOW ? 0 : 1, 3); i > 0; i--) {
            addIfItGoes(chosen, deviations.next(step));
        }
        if (draw.chance(0.9)) {
            addIfItGoes(chosen, body.step(draw.chance(0.6)));
        }
        return chosen;
    }

    /** An operation that does not go with the others is left out. */
    private static void addIfItGoes(List<Sequence> chosen, Sequence sequence) {
        if (chosen.stream().allMatch(sequence::goesWith)) {
            chosen.add(sequence);
        }
    }

    private void step(List<Sequence> chosen) {
        List<Sequence> all = new ArrayList<>(chosen);
        deviations.begin(step);
        for (Sequence due : Optional.ofNullable(later.remove(step)).orElse(List.of())) {
            if (all.stream().allMatch(other -> other.goesWith(due) || chosen.contains(other))) {
                all.removeIf(other -> !other.goesWith(due));
                all.add(due);
            } else {
                later.computeIfAbsent(step + 1, any -> new ArrayList<>()).add(due); // two removals of process sets
            }
        }
        write(draw.shuffled(all));
        // Nothing is due later for what was left out after all.
        deviations
                .takeLater(all)
                .forEach((when, what) ->
                        later.computeIfAbsent(when, any -> new ArrayList<>()).addAll(what));
        step++;
    }

    private void write(List<Sequence> sequences) {
        if (sequences.size() > 1 && draw.chance(0.7)) {
            for (int attempt = 0; attempt < TRIES; attempt++) {
                if (writtenIfItEnds(sequences)) {
                    return;
                }
            }
        }
        for (int rank = 0; rank < ranks; rank++) {
            for (Sequence sequence : sequences) {
                scripts.get(rank).addAll(sequence.of(rank));
            }
        }
    }

    private boolean writtenIfItEnds(List<Sequence> sequences) {
        List<List<Action>> tried = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int self = rank;
            List<Action> script = new ArrayList<>(scripts.get(rank));
            script.addAll(draw.interleaved(
                    sequences.stream().map(sequence -> sequence.of(self)).toList()));
            tried.add(script);
        }
        boolean ends = Ending.isReached(operations.all(), tried);
        if (ends) {
            for (int rank = 0; rank < ranks; rank++) {
                scripts.set(rank, tried.get(rank));
            }
        }
        return ends;
    }
}
