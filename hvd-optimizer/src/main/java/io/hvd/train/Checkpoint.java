package io.hvd.train;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import io.hvd.optimizer.NamedState;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.safetensors.CheckpointHeader;
import io.hvd.train.safetensors.CheckpointReader;
import io.hvd.train.safetensors.CheckpointWriter;
import io.hvd.train.safetensors.FileChecksum;
import io.hvd.train.safetensors.SetIndex;
import io.hvd.train.safetensors.SetReader;
import io.hvd.train.safetensors.TensorSums;
import io.hvd.train.safetensors.Wanted;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Named tensors and a few words about them in one file of the safetensors format: eight bytes of
 * header length, a JSON header with type, shape and place of every tensor, then their bytes. Tensors may have any size:
 * they go to the file and come from it in pieces.
 *
 * <p>A file that hvd has written has a checksum in its header, see {@link FileChecksum}; other programs take it for one
 * of the words. A program that changes such a file and keeps the words must leave out those that begin
 * with {@code hvd.}, or the file counts as damaged.
 *
 * @param tensors by name; on the host
 * @param metadata by key, such as the epoch; keys that begin with {@code hvd.} are hvd's own
 * @see <a href="https://github.com/huggingface/safetensors">the format</a>
 */
public record Checkpoint(SortedMap<String, Tensor> tensors, Map<String, String> metadata) {
    /** Bytes that are converted, summed up and handed to the disk at once. */
    private static final int PIECE = 1 << 20;

    /** The largest multiple of every element's size that a buffer can hold. */
    private static final int LONGEST_BUFFER = Integer.MAX_VALUE & -8;

    /**
     * Adds a word for the checksum of each tensor, {@code crc32c.NAME}: if such a file is damaged, the error says
     * which tensors are. It reads all tensors once.
     */
    public Checkpoint withTensorSums() {
        Map<String, String> words = new LinkedHashMap<>(metadata);
        words.putAll(TensorSums.words(tensors));
        return new Checkpoint(tensors, words);
    }

    /**
     * Adds an optimizer's state: each tensor and each word under its name behind a prefix, such as {@code
     * optimizer.exp_avg.layer1.weight}. It may have any size.
     *
     * @param name the prefix, such as {@code optimizer}
     * @param state such as {@code optimizer.wholeState()}
     */
    public Checkpoint withState(String name, NamedState state) {
        SortedMap<String, Tensor> all = new TreeMap<>(tensors);
        state.tensors().forEach((key, tensor) -> all.put(name + "." + key, tensor));
        Map<String, String> words = new LinkedHashMap<>(metadata);
        state.words().forEach((key, word) -> words.put(name + "." + key, word));
        return new Checkpoint(all, words);
    }

    /**
     * Gives the state that {@link #withState} has added, or the one in a tensor of this name with the bytes of {@code
     * Optimizer.saveState}.
     *
     * @throws HvdException if there is none
     */
    public NamedState state(String name) {
        SortedMap<String, Tensor> found = part(tensors, name + ".");
        SortedMap<String, String> words = part(metadata, name + ".");
        Tensor bytes = tensors.get(name);
        if (bytes != null && bytes.dtype() == DType.UINT8) {
            return NamedState.ofBytes((byte[]) bytes.toArray());
        }
        if (found.isEmpty() && words.isEmpty()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "it has no state of an optimizer: neither tensors nor words whose names begin with \"" + name
                            + ".\"");
        }
        return new NamedState(found, words);
    }

    private static <T> SortedMap<String, T> part(Map<String, T> all, String prefix) {
        SortedMap<String, T> part = new TreeMap<>();
        all.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                part.put(name.substring(prefix.length()), value);
            }
        });
        return part;
    }

    /**
     * Finds out by trying whether a checkpoint could be written to this file; leaves nothing behind.
     *
     * @throws FileSystemException that names the file, if it could not
     */
    public static void requireWritable(Path file) throws IOException {
        WholeFile.requireWritable(file);
    }

    /**
     * How many bytes its file has.
     *
     * @throws HvdException if a name or a word cannot be in such a file, or they are too many
     */
    public long bytes() {
        CheckpointHeader header = CheckpointHeader.of(tensors, metadata);
        return Long.BYTES + header.encode().length + header.dataBytes();
    }

    /**
     * Writes the file so that it is either there as a whole or as it was before, see {@link WholeFile}. Only one rank
     * may do it.
     *
     * @throws FileSystemException that names the file, if the disk is full or the folder cannot be written
     * @throws HvdException if a name or a word cannot be in such a file
     */
    public void write(Path file) throws IOException {
        write(file, PIECE);
    }

    /** @param pieceBytes a multiple of 8 */
    void write(Path file, int pieceBytes) throws IOException {
        CheckpointHeader header = CheckpointHeader.of(tensors, metadata);
        byte[] json = header.encode();
        WholeFile.write(
                file,
                channel -> new CheckpointWriter(channel, pieceBytes, header.dataBytes())
                        .write(json, header.entries(), tensors));
    }

    /**
     * Reads the file. One without a checksum, as other programs write them, is read too as long as its header fits its
     * size; a warning then says that the file cannot be checked for damage. Tensors of types that hvd does not have, such as
     * U32 and F8_E4M3, are left out, and a warning names them.
     *
     * @throws HvdException if the file is damaged or is something else, such as a pointer of Git LFS or what torch.save has
     *     written; the message says how, with what was found and what was expected
     * @throws FileSystemException that names the file, if it cannot be read
     */
    public static Checkpoint read(Path file) throws IOException {
        return read(file, name -> true);
    }

    /**
     * Reads the file and keeps some of its tensors in memory. Of a checkpoint in several files, whose folder has a {@code
     * model.safetensors.index.json}, it reads no other ones.
     *
     * @param file or the folder
     */
    public static Checkpoint read(Path file, Predicate<String> wanted) throws IOException {
        return read(file, Wanted.wholes(wanted));
    }

    /** Reads the file, or the folder, and keeps some elements of some of its tensors in memory. */
    public static Checkpoint read(Path file, Wanted wanted) throws IOException {
        if (Files.isDirectory(file) && Files.exists(file.resolve(SetIndex.NAME))) {
            CheckpointReader.Content content = new SetReader(file, PIECE, LONGEST_BUFFER).read(wanted);
            return new Checkpoint(content.tensors(), content.words());
        }
        return read(file, wanted, PIECE, LONGEST_BUFFER);
    }

    /**
     * @param pieceBytes a multiple of 8
     * @param longestBuffer bytes of a tensor that one buffer may hold; a multiple of 8
     */
    static Checkpoint read(Path file, int pieceBytes, int longestBuffer) throws IOException {
        return read(file, Wanted.wholes(name -> true), pieceBytes, longestBuffer);
    }

    private static Checkpoint read(Path file, Wanted wanted, int pieceBytes, int longestBuffer) throws IOException {
        try (FileChannel channel = FileChannel.open(RegularFile.at(file))) {
            CheckpointReader.Content content =
                    new CheckpointReader(file, channel, pieceBytes, longestBuffer).read(wanted);
            return new Checkpoint(content.tensors(), content.words());
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            var named = new FileSystemException(file.toString(), null, "could not be read: " + e.getMessage());
            named.initCause(e);
            throw named;
        }
    }
}
