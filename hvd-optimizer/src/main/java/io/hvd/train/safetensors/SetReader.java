package io.hvd.train.safetensors;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Takes tensors out of a checkpoint that lies in several files with an index, and reads no others. */
public final class SetReader {
    private final Path folder;
    private final int pieceBytes;
    private final int longestBuffer;

    /** @param pieceBytes and the next as {@link CheckpointReader} says */
    public SetReader(Path folder, int pieceBytes, int longestBuffer) {
        this.folder = folder;
        this.pieceBytes = pieceBytes;
        this.longestBuffer = longestBuffer;
    }

    /** The words are those of all files; where two files have a word, that of the first. */
    public CheckpointReader.Content read(Wanted wanted) throws IOException {
        CheckpointReader.Content all = new CheckpointReader.Content(new TreeMap<>(), new TreeMap<>());
        try {
            SetIndex index = SetIndex.in(folder);
            SortedSet<String> names = new TreeSet<>(index.files().values());
            names.addAll(index.headerSums().keySet());
            SortedSet<String> missing = new TreeSet<>(index.files().keySet());
            for (String name : names) {
                read(
                        index,
                        name,
                        (tensor, shape) -> {
                            missing.remove(tensor);
                            return wanted.of(tensor, shape);
                        },
                        all);
            }
            if (!missing.isEmpty()) {
                throw new DamagedCheckpoint("its index has tensors that are in no file: " + missing.first());
            }
            return all;
        } catch (DamagedCheckpoint e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, folder + " is no whole checkpoint: " + e.getMessage(), e);
        }
    }

    private void read(SetIndex index, String name, Wanted wanted, CheckpointReader.Content all)
            throws IOException, DamagedCheckpoint {
        if (name.contains("/") || name.contains("\\")) {
            throw new DamagedCheckpoint("its index names a file of another folder, " + name);
        }
        Path file = folder.resolve(name);
        try (FileChannel channel = FileChannel.open(RegularFile.at(file))) {
            CheckpointReader.Content part = new CheckpointReader(file, channel, pieceBytes, longestBuffer)
                    .read(wanted, index.headerSums().get(name));
            all.tensors().putAll(part.tensors());
            part.words().entrySet().stream()
                    .filter(word -> !word.getKey().startsWith(TensorSums.PREFIX))
                    .forEach(word -> all.words().putIfAbsent(word.getKey(), word.getValue()));
        } catch (NoSuchFileException e) {
            throw new DamagedCheckpoint("its file " + name + " is missing");
        } catch (HvdException e) {
            throw new DamagedCheckpoint(e.words());
        }
    }
}
