package io.hvd.train.log;

import io.hvd.error.HvdException;
import io.hvd.train.Training;
import io.hvd.train.log.RunCard.EpochRow;
import io.hvd.train.log.RunCard.Exit;
import io.hvd.train.log.RunCard.RankRow;
import io.hvd.train.log.RunCard.SettingRow;
import io.hvd.train.log.RunCard.Summary;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The run card of a run under way: its starts, epochs, warnings and end, noted until the card is written. */
final class OpenCard {
    /** A rank that waits for data in a larger share of its steps deserves a warning. */
    private static final double MUCH_WAITING = 0.2;

    private final RunDescription description;
    private final RunFacts facts;
    private final List<String> starts = new ArrayList<>();
    private final List<EpochRow> epochs = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private Exit exit = Exit.RUNNING;
    /** How the last loop has ended; null without one. */
    private Training.Outcome outcome;

    /** @param earlier the card that this one goes on with; null for a new one */
    OpenCard(RunDescription description, RunFacts facts, RunCard earlier) {
        this.description = description;
        this.facts = facts;
        if (earlier != null) {
            starts.addAll(earlier.starts());
            epochs.addAll(earlier.epochs());
        }
        starts.add(now());
    }

    static String now() {
        return Instant.now().toString();
    }

    /** Forgets the earlier card. */
    void beginAnew() {
        epochs.clear();
        starts.subList(0, starts.size() - 1).clear();
    }

    /** Takes the epochs off that ended later. @return their number */
    int cutAfter(long step) {
        int rows = epochs.size();
        epochs.removeIf(row -> row.step() > step);
        return rows - epochs.size();
    }

    /** The step at which the last epoch ended; 0 without one. */
    long lastStep() {
        return epochs.isEmpty() ? 0 : epochs.get(epochs.size() - 1).step();
    }

    /** Adds an epoch, and a warning for each metric of it that is not finite. */
    void add(EpochRow added) {
        // An epoch whose end was cut off comes again.
        epochs.removeIf(row -> row.epoch() == added.epoch() && row.step() == added.step());
        epochs.add(added);
        added.metrics().forEach((name, value) -> {
            if (!Double.isFinite(value)) {
                warn(name + " was " + value + " after epoch " + added.epoch());
            }
        });
    }

    /** Adds a warning that is not there already. */
    void warn(String warning) {
        if (!warnings.contains(warning)) {
            warnings.add(warning);
        }
    }

    void loopBegins() {
        outcome = null;
    }

    void loopEnds(Training.Outcome end) {
        outcome = end;
    }

    /** Notes that the run has come to its end, unless an end is noted already. */
    void finished() {
        if (exit == Exit.RUNNING) {
            exit = outcome == null
                    ? Exit.FINISHED
                    : new Exit(Exit.FINISHED.state(), null, orNull(outcome.reason()), kind());
            warnOfSlowData();
        }
    }

    void stopped(String why) {
        exit = new Exit("stopped", null, why, kind());
        warnOfSlowData();
    }

    void failed(Throwable cause) {
        String error = cause instanceof HvdException e
                ? e.id().code()
                : cause.getClass().getName();
        exit = new Exit("failed", error, String.valueOf(cause.getMessage()), null);
    }

    /** A run whose end nobody has noted has failed. */
    void close() {
        if (exit == Exit.RUNNING) {
            exit = new Exit("failed", null, "the program left the run before its end", null);
        }
    }

    private String kind() {
        return outcome == null ? null : outcome.kind().words();
    }

    private static String orNull(String words) {
        return words.isEmpty() ? null : words;
    }

    private void warnOfSlowData() {
        for (RankRow row : rankRows()) {
            double share = row.total().dataWaitShare();
            if (share > MUCH_WAITING) {
                warn(String.format(
                        Locale.ROOT,
                        "rank %d waited for its batches in %.0f %% of its steps' time; give its loader more workers",
                        row.rank(),
                        100 * share));
            }
        }
    }

    /** The card as it is now. */
    RunCard card(List<SettingRow> settings) {
        List<RankRow> rows = rankRows();
        return new RunCard(
                RunCard.FORMAT,
                description.program(),
                facts.command(),
                starts,
                now(),
                exit,
                facts.versions(),
                description.shown(),
                settings,
                rows,
                Summary.of(rows.stream().map(RankRow::total).toList()),
                epochs,
                warnings);
    }

    private List<RankRow> rankRows() {
        return facts.places().stream()
                .map(place -> new RankRow(
                        place.rank(),
                        place.host(),
                        place.pid(),
                        place.device(),
                        RankFigures.sum(place.rank(), figuresOf(place.rank()))))
                .toList();
    }

    private List<RankFigures> figuresOf(int rank) {
        return epochs.stream()
                .flatMap(row -> row.ranks().stream())
                .filter(figures -> figures.rank() == rank)
                .toList();
    }
}
