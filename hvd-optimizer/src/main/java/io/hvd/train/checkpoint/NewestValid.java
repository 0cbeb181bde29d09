package io.hvd.train.checkpoint;

import io.hvd.error.HvdException;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The checkpoints that rank 0 has found in the folder.
 *
 * @param manifest of the newest file that can be resumed; empty if there is none
 * @param refused the newer ones, and why
 */
record NewestValid(Optional<Manifest> manifest, List<String> refused) {
    /** Loads the newest file that is whole and of this training. */
    static NewestValid load(CheckpointFolder folder, ResumableParts parts) throws IOException {
        List<String> refused = new ArrayList<>();
        for (long step : folder.steps()) {
            try {
                Manifest manifest = parts.loadTensors(Checkpoint.read(folder.file(step)));
                if (manifest.step() != step) {
                    throw new IOException("its field \"step\" is \"" + manifest.step() + "\", expected " + step
                            + " as its name says");
                }
                parts.loadWords(manifest);
                return new NewestValid(Optional.of(manifest), refused);
            } catch (HvdException e) {
                refused.add(folder.file(step) + ": " + e.words());
            } catch (IOException e) {
                refused.add(folder.file(step) + ": " + e.getMessage());
            }
        }
        return new NewestValid(Optional.empty(), refused);
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
            return new NewestValid(Optional.empty(), rest);
        }
        return new NewestValid(Optional.of(Manifest.decode(rest)), List.of());
    }
}
