package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFile;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Each rank writes its share of a checkpoint and reads what it needs. Before each one the ranks tell each other whether they are ready,
 * which is all that a save costs beside the copy: how the files become a checkpoint is the business of the threads that write them, see
 * {@link UnfinishedSet}.
 */
final class EveryRankSaving implements Saving {
    private static final HvdLogger LOG = HvdLogger.of(EveryRankSaving.class);

    private static final String BUSY = "busy";

    private final SeriesFiles files;
    private final ProcessSet ranks;
    private final RanksTogether ranksTogether;
    private final ResumableParts parts;
    private final Runnable together;
    private final TensorCopies copies = new TensorCopies();
    /** The copy that {@link #savePrepared} writes, on any thread; null if none was made since the last save. */
    private Prepared prepared;

    private volatile boolean abandoned;
    private int leftOut;

    private record Prepared(long step, int epoch, UnfinishedSet set, Checkpoint share, boolean written) {
        Prepared asWritten() {
            return new Prepared(step, epoch, set, share, true);
        }
    }

    EveryRankSaving(CheckpointsBuilder builder) {
        this.files = builder.files();
        this.ranks = builder.ranks();
        this.ranksTogether = new RanksTogether(ranks);
        this.parts = builder.parts();
        this.together = builder.together();
    }

    @Override
    public Optional<Manifest> resumeLatest() throws IOException {
        files.looked();
        NewestValid found = newest();
        found.requireAny(files.folder());
        copies.reserve(share());
        return found.manifest();
    }

    /** All ranks read a checkpoint before any takes it: what one has taken, its optimizer may be unable to forget for an older one. */
    private NewestValid newest() throws IOException {
        List<String> refused = new ArrayList<>();
        for (String name : names()) {
            Path path = files.folder().resolve(name);
            ResumableParts.Found[] read = new ResumableParts.Found[1];
            String why = ranksTogether.firstFailure("checkpoints.read", () -> {
                read[0] = NewestValid.look(path, CheckpointFolder.stepOf(name), parts, parts::needs);
            });
            if (why.isEmpty()) {
                why = ranksTogether.firstFailure(
                        "checkpoints.taken", () -> read[0].take().run());
            }
            if (why.isEmpty()) {
                NewestValid found = new NewestValid(Optional.of(read[0].manifest()), path, refused, null);
                if (ranks.rank() == 0) {
                    files.resumed(found);
                }
                return found;
            }
            refused.add(path + ": " + why);
        }
        return new NewestValid(Optional.empty(), null, refused, null);
    }

    /** The names of the checkpoints as the first rank sees them, the newest first. */
    private List<String> names() throws IOException {
        List<String> names = new ArrayList<>();
        if (ranks.rank() == 0) {
            for (long step : files.checkpoints().steps()) {
                files.checkpoints()
                        .wholes(step)
                        .forEach(path -> names.add(path.getFileName().toString()));
            }
        }
        String all = ranks.broadcastObject("checkpoints.there", String.join("\n", names), ObjectCodec.utf8(), root());
        return all.lines().toList();
    }

    @Override
    public void requireWritable() {
        together.run();
        long[] bytes = new long[1];
        String why = ranksTogether.firstFailure("checkpoints.size", () -> bytes[0] = fileBytes());
        if (why.isEmpty()) {
            long[] all = (long[])
                    ranks.allgather("checkpoints.bytes", Tensor.of(bytes)).toArray();
            why = ranksTogether.firstFailure("checkpoints.room", () -> {
                if (ranks.rank() == 0) {
                    files.requireRoom(Arrays.stream(all).sum());
                }
            });
        }
        if (why.isEmpty()) {
            why = ranksTogether.firstFailure("checkpoints.seen", files::requireFolder);
        }
        if (!why.isEmpty()) {
            throw new HvdException(
                    ErrorId.CHECKPOINT_NOT_WRITTEN,
                    "no checkpoint can be written to " + files.folder() + ", which shows before the first step: "
                            + why);
        }
    }

    private long fileBytes() {
        NamedState state = parts.state(true);
        Manifest manifest = parts.manifest(0, 0, ranks.size());
        long growth = parts.growth(state);
        return ResumableParts.checkpoint(manifest, state, share(parts.tensors().get(), state))
                        .withTensorSums()
                        .bytes()
                + (parts.sharesState() ? growth : growth / ranks.size());
    }

    /** The tensors that this rank writes. */
    private SortedMap<String, Tensor> share() {
        return share(parts.tensors().get(), parts.state(true));
    }

    private SortedMap<String, Tensor> share(SortedMap<String, Tensor> model, NamedState state) {
        boolean ownState = parts.sharesState();
        SortedMap<String, Tensor> common =
                ResumableParts.all(model, ownState ? new NamedState(new TreeMap<>(), new TreeMap<>()) : state);
        SortedMap<String, Tensor> mine = new TreeMap<>();
        for (String name : parts.notStepped(model)) { // the ranks' batch norms have seen other batches
            Tensor tensor = common.remove(name);
            if (ranks.rank() == 0) {
                mine.put(name, tensor);
            }
        }
        int[] owners = ShardedOptimizer.owners(
                ranks.size(), common.values().stream().mapToLong(Tensor::bytes).toArray());
        int place = 0;
        for (var tensor : common.entrySet()) {
            if (owners[place++] == ranks.rank()) {
                mine.put(tensor.getKey(), tensor.getValue());
            }
        }
        if (ownState) {
            mine.putAll(ResumableParts.all(new TreeMap<>(), state));
        }
        return mine;
    }

    @Override
    public void save(long step, int epoch) throws IOException {
        together.run();
        Prepared before = take();
        Optional<UnfinishedSet> set = agree(step, before);
        if (set.isEmpty()) {
            put(before);
            leaveOut(step);
            return;
        }
        begin(step, set.get(), copy(step, epoch));
    }

    /** Takes the copy, so that no other thread begins to write it while its memory is used for the next one. */
    private synchronized Prepared take() {
        Prepared taken = prepared;
        prepared = null;
        return taken;
    }

    private synchronized void put(Prepared copy) {
        prepared = copy;
    }

    /**
     * Asks all ranks whether they are ready.
     *
     * @param before the copy that this rank has taken; null if there was none
     * @return the folder in which they are to write; empty if one is still writing
     */
    private Optional<UnfinishedSet> agree(long step, Prepared before) {
        boolean[] busy = new boolean[1];
        String number = UnfinishedSet.drawNumber();
        List<String> answers = ask("checkpoints.vote", () -> {
            files.requireNoFailure();
            busy[0] = files.isBusy();
            if (ranks.rank() == 0 && !busy[0]) {
                files.requireOwnFolder(step);
                if (before == null || before.written()) { // else another rank may have written it already
                    files.deleteLeftovers();
                }
            }
            return busy[0] ? BUSY : WholeFile.owner() + " " + number;
        });
        if (answers.contains(BUSY)) {
            return Optional.empty();
        }
        String[] first = answers.get(0).split(" ");
        return Optional.of(UnfinishedSet.of(files.folder(), step, first[0], first[1], ranks.size()));
    }

    /** If one rank fails, the checkpoint that is being written cannot be one any more. */
    private List<String> ask(String name, RanksTogether.Question question) {
        return ranksTogether.ask(name, question, this::giveUp);
    }

    /** Ends the wait for the files of others. What comes of it is known already. */
    private void giveUp() {
        abandoned = true;
        try {
            files.await();
        } catch (HvdException e) {
            LOG.debug("the checkpoint under way is given up: {}", e.words());
        }
        abandoned = false;
        take();
    }

    private Checkpoint copy(long step, int epoch) {
        NamedState state = parts.state(true);
        Manifest manifest = parts.manifest(step, epoch, ranks.size());
        return ResumableParts.checkpoint(
                manifest, state, copies.of(share(parts.tensors().get(), state)));
    }

    private void begin(long step, UnfinishedSet set, Checkpoint share) {
        files.begin(step, set, ranks.rank(), share, () -> abandoned);
    }

    @Override
    public void saveAndWait(long step, int epoch) throws IOException {
        together.run();
        Prepared before = take();
        String mine = before == null || !before.written() ? "" : before.step() + "/" + before.epoch();
        List<String> written = ask("checkpoints.prepared", () -> mine);
        if (written.stream().distinct().count() > 1) {
            giveUp(); // a signal has come to some ranks only
        }
        settle();
        if (written.stream().allMatch((step + "/" + epoch)::equals)) {
            return;
        }
        Optional<UnfinishedSet> set = agree(step, before);
        while (set.isEmpty()) { // a rank has begun meanwhile to write what it had prepared
            settle();
            set = agree(step, before);
        }
        begin(step, set.get(), copy(step, epoch));
        settle();
    }

    /** Waits until the checkpoint under way is on the disk: first each rank for its file, then the first one for all. */
    private void settle() {
        ask("checkpoints.files", () -> ended(ranks.rank() != 0));
        ask("checkpoints.whole", () -> ended(ranks.rank() == 0));
    }

    private String ended(boolean mine) {
        if (mine) {
            files.await();
        }
        return "";
    }

    @Override
    public void prepare(long step, int epoch) throws IOException {
        together.run();
        Prepared before = take();
        Optional<UnfinishedSet> set = agree(step, before);
        put(set.isPresent() ? new Prepared(step, epoch, set.get(), copy(step, epoch), false) : before);
    }

    @Override
    public synchronized void savePrepared() {
        if (prepared != null && !prepared.written()) {
            begin(prepared.step(), prepared.set(), prepared.share());
            prepared = prepared.asWritten();
        }
    }

    /** Another rank has to write too, which may not wait for a batch. */
    @Override
    public void waitBegins(long step, int epoch) {}

    @Override
    public void waitEnds() {}

    @Override
    public void saveWaiting() {}

    private void leaveOut(long step) {
        String line =
                "no checkpoint of step {}: the one before is still being written to {}. Save less often; further ones"
                        + " are left out without a word";
        if (ranks.rank() == 0 && leftOut++ == 0) {
            LOG.warn(line, step, files.folder());
        }
    }

    private int root() {
        return ranks.ranks().get(0);
    }

    /** Waits for this rank's file; the first rank waits for those of all, as long as these grow. */
    @Override
    public void close() {
        files.await();
    }
}
