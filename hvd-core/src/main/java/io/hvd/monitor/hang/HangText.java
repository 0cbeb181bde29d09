package io.hvd.monitor.hang;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.RankPosition;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import java.util.List;
import java.util.stream.Collectors;

/** Writes the text about a hang: a short one for stderr, and all details for the file. */
public final class HangText {
    private static final int MOST_WAITS = 4;
    private static final int MOST_RANKS = 16;
    private static final int MOST_FRAMES = 12;

    private HangText() {}

    /** The text for stderr, which fits on one screen whatever the number of ranks. */
    public static String summary(HangSituation situation, String file) {
        StringBuilder text = new StringBuilder("hvd: HANG: " + situation.verdict() + "\n");
        situation.overdue().stream()
                .limit(MOST_WAITS)
                .forEach(wait -> text.append("hvd:   ").append(line(wait)).append('\n'));
        more(text, situation.overdue().size() - MOST_WAITS, "collectives");
        situation.ranks().stream()
                .limit(MOST_RANKS)
                .forEach(view -> text.append("hvd:   ").append(line(view)).append('\n'));
        more(text, situation.ranks().size() - MOST_RANKS, "ranks");
        tree(text, StackTree.ofTheProgram(situation.ranks()));
        quote(text, situation.ras());
        return text.append("hvd: stacks, calls and memory of all ranks: ")
                .append(file)
                .append("\nhvd: rank ")
                .append(situation.reporter())
                .append(" reports; all ranks end now\n")
                .toString();
    }

    /** The text for the file, with all details. */
    public static String inFull(HangSituation situation, String when) {
        StringBuilder text = new StringBuilder(
                "Hang of a job of " + situation.ranks().size() + " ranks, reported by rank " + situation.reporter()
                        + " at " + when + "\n\n" + situation.verdict() + "\n\nCollectives that wait\n");
        situation.overdue().forEach(wait -> text.append("  ").append(line(wait)).append('\n'));
        text.append("\nThe ranks' threads as one tree\n");
        StackTree.inFull(situation.ranks())
                .forEach(line -> text.append("  ").append(line).append('\n'));
        situation.ranks().forEach(view -> text.append('\n').append(inFull(view)));
        if (!situation.ras().isEmpty()) {
            text.append("\n==== NCCL's RAS at ")
                    .append(situation.ras().address())
                    .append('\n');
            situation
                    .ras()
                    .lines()
                    .forEach(line -> text.append("  ").append(line).append('\n'));
            text.append(situation.ras().isWhole() ? "" : "  ... cut off\n");
        }
        return text.toString();
    }

    private static void tree(StringBuilder text, List<String> lines) {
        if (lines.isEmpty()) {
            return;
        }
        text.append("hvd: the threads of the ranks:\n");
        lines.stream()
                .limit(MOST_FRAMES)
                .forEach(line -> text.append("hvd:   ").append(line).append('\n'));
        more(text, lines.size() - MOST_FRAMES, "frames");
    }

    private static void quote(StringBuilder text, RasAnswer ras) {
        if (!ras.isEmpty()) {
            text.append("hvd: NCCL's RAS at ").append(ras.address()).append(" says:\n");
            ras.quoted().forEach(line -> text.append("hvd:   ").append(line).append('\n'));
        }
    }

    private static void more(StringBuilder text, int left, String what) {
        if (left > 0) {
            text.append("hvd:   ... and ")
                    .append(left)
                    .append(" more ")
                    .append(what)
                    .append('\n');
        }
    }

    private static String line(CollectiveWait wait) {
        return wait.key() + ": " + Phrases.ranks(wait.waiting().keySet()) + " for "
                + Phrases.seconds(wait.oldestMillis())
                + " at " + wait.site()
                + (wait.missing().isEmpty() ? ", nobody missing" : ", missing " + Phrases.ranks(wait.missing()));
    }

    private static String line(RankView view) {
        return "rank " + view.rank() + " on " + view.member().host() + ", pid "
                + view.member().pid() + ": "
                + view.live().map(live -> where(view, live)).orElseGet(() -> RankPosition.silent(view));
    }

    private static String where(RankView view, LiveReport live) {
        String phase = view.activity().phase().isOpen()
                ? ", in phase \"" + view.activity().phase().what() + "\""
                : "";
        return "thread \"" + live.training().thread() + "\" " + live.training().state() + " at "
                + live.training().place() + phase + waiting(view.activity().pending());
    }

    private static String waiting(List<CallView> pending) {
        if (pending.isEmpty()) {
            return ", waits in no collective";
        }
        String others = pending.size() == 1 ? "" : " and " + (pending.size() - 1) + " more";
        return ", waits in " + pending.get(0).key() + others;
    }

    private static String inFull(RankView view) {
        String calls = view.activity().recent().stream().map(HangText::line).collect(Collectors.joining());
        return "==== " + line(view) + "\n"
                + (view.answers() ? "Last calls\n" : "Last calls as last published\n") + calls
                + view.live().map(HangText::inFull).orElse("");
    }

    private static String line(CallView call) {
        return "  " + call.number() + ". " + call.key() + (call.detail().isEmpty() ? "" : " " + call.detail())
                + " at " + call.site() + ", called "
                + Phrases.seconds(call.submittedAgo()) + " ago, "
                + (call.isStarted() ? "begun " + Phrases.seconds(call.startedAgo()) + " ago, " : "")
                + (call.isPending() ? "PENDING" : "ended " + Phrases.seconds(call.endedAgo()) + " ago")
                + (call.error().isEmpty() ? "" : ", FAILED: " + call.error()) + "\n";
    }

    private static String inFull(LiveReport live) {
        return "Machine\n" + live.machine() + "Training thread\n"
                + live.training().headed() + "Communication thread\n"
                + live.communication().headed() + "Other threads\n" + live.others();
    }
}
