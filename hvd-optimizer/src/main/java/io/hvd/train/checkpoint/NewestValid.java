package io.hvd.train.checkpoint;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.NamedState;
import io.hvd.train.Checkpoint;
import io.hvd.train.safetensors.Wanted;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The checkpoints that rank 0 has found in the folder.
 *
 * @param manifest of the newest one that can be resumed; empty if there is none
 * @param from its file or folder; null if there is none, or it is not known here
 * @param refused the newer ones, and why
 * @param state that of the optimizer in the newest one; null if it is not known here
 */
record NewestValid(Optional<Manifest> manifest, Path from, List<String> refused, NamedState state) {
    private static final HvdLogger LOG = HvdLogger.of(NewestValid.class);

    /** Loads the newest one that is whole and of this training. */
    static NewestValid load(CheckpointFolder folder, ResumableParts parts) throws IOException {
        List<String> refused = new ArrayList<>();
        for (long step : folder.steps()) {
            for (Path path : folder.wholes(step)) {
                try {
                    ResumableParts.Found found = look(path, step, parts, Wanted.wholes(name -> true));
                    found.take().run();
                    return new NewestValid(Optional.of(found.manifest()), path, refused, found.state());
                } catch (HvdException e) {
                    refused.add(path + ": " + e.words());
                } catch (IOException e) {
                    refused.add(path + ": " + e.getMessage());
                }
            }
        }
        return new NewestValid(Optional.empty(), null, refused, null);
    }

    /** Reads one and looks at it; nothing is taken yet. @param wanted what of it is kept in memory */
    static ResumableParts.Found look(Path path, long step, ResumableParts parts, Wanted wanted) throws IOException {
        ResumableParts.Found found = parts.look(Checkpoint.read(path, wanted));
        if (found.manifest().step() != step) {
            throw new IOException("its field \"step\" is \"" + found.manifest().step() + "\", expected " + step
                    + " as its name says");
        }
        return found;
    }

    /** Says in the log what it goes on from, and what was refused. */
    void say() {
        manifest.ifPresent(found -> {
            refused.forEach(why -> LOG.warn("a newer checkpoint is refused. {}", why));
            LOG.notice("going on from {}, which {} ranks have written", from, found.worldSize());
        });
    }

    /** @throws HvdException if there are checkpoints, and none can be resumed */
    void requireAny(Path folder) {
        if (manifest.isEmpty() && !refused.isEmpty()) {
            throw new HvdException(
                    ErrorId.NO_VALID_CHECKPOINT,
                    "none of the " + refused.size() + " checkpoints in " + folder + " can be resumed. "
                            + String.join("; ", refused)
                            + ". Take the program and the flags that wrote them, or an empty folder");
        }
    }

    /** For the other ranks: a word of how it went, a tab, and the message or the words. */
    String encode() {
        if (manifest.isPresent()) {
            return "resumed\n" + manifest.get().encode();
        }
        return refused.isEmpty() ? "none" : "refused\n" + String.join("\n", refused);
    }

    static NewestValid decode(String text) {
        List<String> lines = text.lines().toList();
        List<String> rest = lines.subList(1, lines.size());
        if (!lines.get(0).equals("resumed")) {
            return new NewestValid(Optional.empty(), null, rest, null);
        }
        return new NewestValid(Optional.of(Manifest.decode(rest)), null, List.of(), null);
    }
}
