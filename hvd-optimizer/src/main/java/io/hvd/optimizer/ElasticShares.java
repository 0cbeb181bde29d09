package io.hvd.optimizer;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.optimizer.SharePlan.Holding;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The shares of a {@link ShardedOptimizer}'s state in an elastic job. Each generation of ranks brings what the ranks still have to one of
 * them, which deals it to all. A rank keeps its old share until it has its new one, and the whole that it was taken from until its next
 * commit: where a rank is lost meanwhile, the next generation begins with either.
 *
 * <p>{@code TrainingState} calls it.
 */
public final class ElasticShares {
    private static final String NAME = "training.shares.";

    private final ShardedOptimizer sharded;
    /** The largest number of a dealing that any rank had when the ranks compared them. */
    private long seen;

    private String news = "";
    /** Whether the state is known to be shared out to all ranks. */
    private boolean checked;

    ElasticShares(ShardedOptimizer sharded) {
        this.sharded = sharded;
        sharded.keepsUntilCommit();
    }

    /** Saved states of the whole optimizer, or of an {@link AmpOptimizer} around it. */
    @FunctionalInterface
    public interface Saved {
        /**
         * Offers them one after the other, the newest first, until one is taken.
         *
         * @param taker throws an HvdException if a state is another optimizer's
         * @return the step of the one that was taken; empty if none was
         */
        OptionalLong offer(Consumer<NamedState> taker);
    }

    /**
     * Goes on with the ranks of another generation: brings the state to one of them, which takes its share. When it broadcasts
     * the optimizer's state, the others take theirs. A collective.
     *
     * @param root the rank whose parameters all take
     * @param saved has what lost ranks have taken with them
     */
    public void gather(HvdContext next, int root, Saved saved) {
        if (!checked) {
            checked = true;
            sharded.requireAllRanks(next);
        }
        SharePlan plan = SharePlan.of(holdings(next), root);
        seen = plan.number();
        Joined joined = joined(next, plan, root, saved);
        int teller = plan.source() >= 0 ? plan.source() : root;
        news = next.allgatherObject(NAME + "news", joined.news, ObjectCodec.utf8())
                .get(teller);
        sharded.regroup(next, plan.number());
        if (joined.whole != null) {
            sharded.loadNamedState(joined.whole);
        }
    }

    private Joined joined(HvdContext next, SharePlan plan, int root, Saved saved) {
        boolean isRoot = next.rank() == root;
        if (plan.source() == root) {
            return isRoot ? new Joined(sharded.wholeAtCommit(), news) : Joined.nothing();
        }
        List<NamedState> given = NamedGather.of(next, NAME + "given", given(plan, next.rank()), root);
        if (plan.source() >= 0) {
            return new Joined(isRoot ? given.get(plan.source()) : null, next.rank() == plan.source() ? news : "");
        }
        return isRoot ? join(plan, given, root, saved) : Joined.nothing();
    }

    private List<Holding> holdings(HvdContext next) {
        Dealing dealing = sharded.dealing();
        Holding mine = new Holding(
                dealing.number(),
                dealing.commits(),
                dealing.ranks(),
                dealing.rank(),
                sharded.hasWholeAtCommit(),
                Math.max(seen, dealing.number()));
        long[] all = (long[])
                next.allgather(NAME + "holdings", Tensor.of(mine.encode())).toArray();
        List<Holding> ranks = new ArrayList<>();
        for (int rank = 0; rank < next.size(); rank++) {
            ranks.add(Holding.decode(all, rank * Holding.LENGTH));
        }
        return ranks;
    }

    /** Null if this rank has nothing to give. */
    private NamedState given(SharePlan plan, int rank) {
        if (rank == plan.source()) {
            return sharded.wholeAtCommit();
        }
        return plan.holders().contains(rank) ? sharded.namedState() : null;
    }

    /**
     * What a rank knows when all have given what they have.
     *
     * @param whole null but on the root
     * @param news what is to be said about it
     */
    private record Joined(NamedState whole, String news) {
        static Joined nothing() {
            return new Joined(null, "");
        }
    }

    private Joined join(SharePlan plan, List<NamedState> given, int root, Saved saved) {
        List<NamedState> parts = new ArrayList<>();
        plan.holders().stream().filter(rank -> rank >= 0 && rank != root).forEach(rank -> parts.add(given.get(rank)));
        if (plan.holders().contains(root)) {
            parts.add(0, given.get(root)); // whose learning rate all get
        }
        ShardedShare share = sharded.dealing().share();
        Set<String> missing = missing(plan.holders());
        if (missing.isEmpty()) {
            return new Joined(share.join(parts), "");
        }
        NamedState[] whole = new NamedState[1];
        OptionalLong step = saved.offer(state -> {
            List<NamedState> all = new ArrayList<>(parts);
            all.add(sharded.wholeOf(state).only(missing::contains));
            whole[0] = share.join(all);
        });
        String lost = ", the optimizer's state of " + missing.size() + " of "
                + sharded.parameters().size() + " parameters was on lost ranks and ";
        return step.isPresent()
                ? new Joined(whole[0], lost + "comes from the checkpoint of step " + step.getAsLong())
                : new Joined(share.join(parts), lost + "begins anew");
    }

    /** The parameters whose share nobody has. @param holders of each rank's share; -1 for one that is lost */
    private Set<String> missing(List<Integer> holders) {
        int[] owners = sharded.state().owners(holders.size());
        return IntStream.range(0, owners.length)
                .filter(i -> holders.get(owners[i]) < 0)
                .mapToObj(i -> sharded.parameters().get(i).name())
                .collect(Collectors.toSet());
    }

    /** What the line about a new generation says of the shares; usually nothing. */
    public String news() {
        return news;
    }

    /** A step counts. */
    public void committed() {
        news = "";
        sharded.committed();
    }

    /**
     * The ranks of a context are about to change, and all are there: each gets the whole state, so that those that leave take nothing
     * with them. A collective.
     */
    public void handOver(HvdContext context) {
        if (context.size() > 1) {
            sharded.shareWithAll(NAME + "all");
        }
    }

    /** Keeps this rank's share as it is. @return puts it back, whatever was dealt since */
    public Runnable backup() {
        return sharded.backup();
    }
}
