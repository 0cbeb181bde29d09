package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.Phrases;
import java.util.SortedSet;

/**
 * A call that some ranks have made and others have left out.
 *
 * @param teller one of the ranks that made the call, with its calls
 * @param isKnown false if the ranks may have parted before the first call that both still remember
 */
record MissedCall(
        CallHistory teller, CallView call, SortedSet<Integer> callers, SortedSet<Integer> lackers, boolean isKnown) {

    /** Says what happened, as a clause after "then". If most ranks did not make the call, it was one too many. */
    String words() {
        return callers.size() < lackers.size()
                ? Phrases.ranks(callers) + " called " + CallLabel.words(call) + " at " + call.site() + ", which "
                        + Phrases.ranks(lackers) + " did not call"
                : Phrases.ranks(lackers) + " left out " + CallLabel.words(call) + ", which " + Phrases.ranks(callers)
                        + " called at " + call.site();
    }
}
