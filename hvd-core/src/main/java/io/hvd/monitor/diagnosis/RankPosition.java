package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.StackView;
import java.util.Optional;

/** Says where a rank is, instead of in the call in which the others wait for it. */
public final class RankPosition {
    private RankPosition() {}

    /** Continues a sentence about the rank that has not made the call, as "it ...". */
    static String insteadOf(CallView.Key key, RankView view) {
        if (!view.answers()) {
            return silent(view);
        }
        LiveReport live = view.live().orElseThrow();
        PhaseView phase = view.activity().phase();
        if (phase.isOverBudget()) {
            return "is in phase \"" + phase.what() + "\", " + Phrases.seconds(-phase.leftMillis())
                    + " over its budget, " + at(live.training());
        }
        Optional<CallView> other = otherWait(key, view, live);
        if (other.isPresent()) {
            return "waits in " + inCall(other.get()) + " instead";
        }
        return at(live.training()) + " instead" + since(view.activity());
    }

    /** Says in a few words where a rank is. */
    public static String brief(RankView view) {
        if (!view.answers()) {
            return view.state().words();
        }
        Optional<CallView> waiting = otherWait(null, view, view.live().orElseThrow());
        return waiting.map(call -> "waits in " + call.key() + ", " + call.site())
                .orElseGet(() -> at(view.live().get().training()));
    }

    /** Describes a call, such as {@code allreduce "x" (called at Train.step(Train.java:42), 3.1 s ago)}. */
    static String inCall(CallView call) {
        return call.key() + " (called at " + call.site() + ", " + Phrases.seconds(call.submittedAgo()) + " ago)";
    }

    /** Says what is known of a rank that does not answer. */
    public static String silent(RankView view) {
        String heard = view.heardAgo() == CallView.NOT_YET
                ? "and was never heard of"
                : "and was last heard of " + Phrases.seconds(view.heardAgo()) + " ago";
        String last = view.activity()
                .last()
                .map(call -> "; the last call that it told of, " + call.key() + ", was made at " + call.site())
                .orElse("; it had told of no call yet");
        return view.state().words() + ", process " + view.member().pid() + " on "
                + view.member().host() + ", " + heard + (view.heardAgo() == CallView.NOT_YET ? "" : last);
    }

    private static String at(StackView training) {
        return training.place().isEmpty()
                ? "its thread \"" + training.thread() + "\" has ended"
                : "is at " + training.place() + " (thread \"" + training.thread() + "\", " + training.state() + ")";
    }

    /**
     * Another call in which the rank's thread waits; a call that it has only started does not keep it from its work.
     */
    private static Optional<CallView> otherWait(CallView.Key key, RankView view, LiveReport live) {
        if (!live.training().insideHvd()) {
            return Optional.empty();
        }
        return view.activity().pending().stream()
                .filter(call -> !call.key().equals(key))
                .findFirst();
    }

    private static String since(Activity activity) {
        return activity.last()
                .map(call -> ", and its last collective, " + call.key()
                        + (call.isPending()
                                ? ", has been under way for " + Phrases.seconds(call.submittedAgo())
                                : ", ended " + Phrases.seconds(call.endedAgo()) + " ago"))
                .orElse(", and has called no collective so far");
    }
}
