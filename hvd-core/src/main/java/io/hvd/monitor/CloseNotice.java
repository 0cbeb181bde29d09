package io.hvd.monitor;

import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankProcess;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Reports once that a rank waits in {@code close()}: it may be there because of an exception, which is not printed
 * before the other ranks have closed too.
 */
final class CloseNotice {
    private static final long PATIENCE_MILLIS = 5_000;

    private final RankProcess self;
    private boolean given;

    CloseNotice(RankProcess self) {
        this.self = self;
    }

    Optional<String> textIfDue(Activity own, Map<Integer, Peers.Heard> heard) {
        Optional<CallView> closing = closing(own);
        if (given || closing.isEmpty() || closing.get().submittedAgo() < PATIENCE_MILLIS) {
            return Optional.empty();
        }
        given = true;
        TreeSet<Integer> open = new TreeSet<>(closing.get().members());
        open.remove(self.rank());
        heard.forEach((rank, sign) -> closing(sign.activity()).ifPresent(call -> open.remove(rank)));
        return Optional.of("hvd: rank " + self.rank() + " on " + self.host() + " has waited "
                + Phrases.seconds(closing.get().submittedAgo()) + " at "
                + closing.get().site()
                + " for " + Phrases.ranks(open) + " to close too; if it got there because of an exception,"
                + " that is shown only afterwards");
    }

    private static Optional<CallView> closing(Activity activity) {
        return activity.pending().stream()
                .filter(call -> call.key().kind().equals(CallView.CLOSE))
                .findFirst();
    }
}
