package io.hvd.train.safetensors;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.DType;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Takes a checkpoint out of a file, piece by piece from its beginning to its end. */
public final class CheckpointReader {
    /**
     * The contents of a file.
     *
     * @param tensors by name
     * @param words those of the program, without hvd's own
     */
    public record Content(SortedMap<String, Tensor> tensors, Map<String, String> words) {}

    private static final HvdLogger LOG = HvdLogger.of(CheckpointReader.class);

    private static final int LENGTH_BYTES = 8;
    private static final int SHORTEST_HEADER = 2;
    private static final int MOST_NAMES = 10;

    /** A small tensor lies in an array: the collector has more work with a direct buffer than with an object. */
    private static final int SMALL_BYTES = 1 << 16;

    private final Path file;
    private final FileChannel channel;
    private final ByteBuffer piece;
    private final int longestBuffer;
    private final Converter converter = new Converter();
    private final FileChecksum checksum = new FileChecksum();
    private final TensorSums sums = new TensorSums();

    /**
     * @param file for messages
     * @param pieceBytes a multiple of 8
     * @param longestBuffer bytes of a tensor that one buffer may hold; a multiple of 8
     */
    public CheckpointReader(Path file, FileChannel channel, int pieceBytes, int longestBuffer) throws IOException {
        this.file = file;
        this.channel = channel;
        this.piece = CheckpointWriter.piece(pieceBytes, channel.size());
        this.longestBuffer = longestBuffer;
    }

    /**
     * Reads the file from its beginning to its end.
     *
     * @param wanted what is kept in memory
     */
    public Content read(Wanted wanted) throws IOException {
        try {
            byte[] json = headerBytes();
            CheckpointHeader header = HeaderParser.parse(json);
            TensorPlaces.require(header, channel.position(), channel.size());
            boolean isSummed = FileChecksum.isIn(json, header.words());
            if (isSummed) {
                checksum.addHeader(json);
            }
            SortedMap<String, Tensor> tensors = new TreeMap<>();
            for (CheckpointHeader.Entry entry : header.entries()) {
                Optional<ElementRun> run = wanted.of(entry.name(), entry.shape());
                if (run.isPresent() && entry.type().dtype().isPresent()) {
                    tensors.put(entry.name(), tensor(entry, entry.type().dtype().get(), run.get()));
                } else {
                    passOver(entry);
                }
            }
            verify(isSummed, header, channel.position());
            sayWhatIsLeftOut(header);
            return new Content(tensors, wordsOfTheUser(header.words()));
        } catch (DamagedCheckpoint e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, file + " is no whole checkpoint: " + e.getMessage(), e);
        }
    }

    /**
     * Reads the tensors that are wanted and nothing else, each of which is checked by the sum in the header.
     *
     * @param headerSum the header's own; null if it is not known, as in files of other programs
     */
    Content read(Wanted wanted, String headerSum) throws IOException, DamagedCheckpoint {
        byte[] json = headerBytes();
        String found = FileChecksum.ofBytes(json);
        if (headerSum != null && !found.equals(headerSum)) {
            throw new DamagedCheckpoint("the header of " + file.getFileName() + " has the CRC-32C " + found
                    + ", expected " + headerSum + " as the index says");
        }
        CheckpointHeader header = HeaderParser.parse(json);
        long data = channel.position();
        TensorPlaces.require(header, data, channel.size());
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        for (CheckpointHeader.Entry entry : header.entries()) {
            Optional<ElementRun> run = wanted.of(entry.name(), entry.shape());
            if (run.isPresent() && entry.type().dtype().isPresent()) {
                channel.position(data + entry.from());
                tensors.put(entry.name(), tensor(entry, entry.type().dtype().get(), run.get()));
                if (sums.isOther(entry.name(), header.words())) {
                    throw new DamagedCheckpoint("the tensor \"" + entry.name() + "\" (bytes " + (data + entry.from())
                            + " to " + (data + entry.to()) + " of " + file.getFileName() + ") is damaged");
                }
            }
        }
        sayWhatIsLeftOut(header);
        return new Content(tensors, wordsOfTheUser(header.words()));
    }

    /** The JSON of a file's header. */
    static byte[] ofHeader(Path file, FileChannel channel) throws IOException, DamagedCheckpoint {
        return new CheckpointReader(file, channel, Long.BYTES, Long.BYTES).headerBytes();
    }

    private byte[] headerBytes() throws IOException, DamagedCheckpoint {
        if (channel.size() < LENGTH_BYTES + SHORTEST_HEADER) {
            throw somethingElse("it has " + channel.size() + " bytes, expected at least "
                    + (LENGTH_BYTES + SHORTEST_HEADER) + ": eight for the length of its header, and {}");
        }
        ByteBuffer length = ByteBuffer.allocate(LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        fill(length);
        long bytes = length.getLong(0);
        long most = Math.min(CheckpointHeader.MOST_BYTES, channel.size() - LENGTH_BYTES);
        if (bytes < SHORTEST_HEADER || bytes > most) {
            throw somethingElse("its header claims " + bytes + " bytes, expected " + SHORTEST_HEADER + " to " + most
                    + " in a file of " + channel.size());
        }
        byte[] header = new byte[(int) bytes];
        fill(ByteBuffer.wrap(header));
        return header;
    }

    /** The damage of a file that cannot be in the format: its kind by its first bytes, or else the given words. */
    private DamagedCheckpoint somethingElse(String otherwise) throws IOException {
        return new DamagedCheckpoint(
                RegularFile.recognise(channel).map(what -> "it " + what).orElse(otherwise));
    }

    /** All of it is read, since its sum is that of all elements. */
    private Tensor tensor(CheckpointHeader.Entry entry, DType type, ElementRun wanted)
            throws IOException, DamagedCheckpoint {
        long elements = entry.shape().elements();
        Shape shape = wanted.elements() == elements ? entry.shape() : Shape.of(wanted.elements());
        Tensor tensor = empty(type, shape, wanted.elements() * type.bytes());
        int most = piece.capacity() / type.bytes();
        sums.begin();
        for (long done = 0; done < elements; done += most) {
            int run = (int) Math.min(most, elements - done);
            fill(piece.clear().limit(run * type.bytes()));
            checksum.add(piece.flip());
            sums.add(piece);
            long from = Math.max(done, wanted.from());
            int kept = (int) Math.max(0, Math.min(done + run, wanted.end()) - from);
            converter.unpack(
                    piece, (int) (from - done) * type.bytes(), type, tensor, from - wanted.from(), kept, Scale.ONE);
        }
        sums.end(entry.name());
        return tensor;
    }

    /** Its bytes count in the checksum. */
    private void passOver(CheckpointHeader.Entry entry) throws IOException, DamagedCheckpoint {
        sums.begin();
        long bytes = entry.bytes();
        for (long done = 0; done < bytes; done += piece.capacity()) {
            fill(piece.clear().limit((int) Math.min(piece.capacity(), bytes - done)));
            checksum.add(piece.flip());
            sums.add(piece);
        }
        sums.end(entry.name());
    }

    private void sayWhatIsLeftOut(CheckpointHeader header) {
        List<String> names = header.entries().stream()
                .filter(entry -> entry.type().dtype().isEmpty())
                .map(entry -> "\"" + entry.name() + "\" of " + entry.type() + entry.shape())
                .toList();
        if (!names.isEmpty()) {
            LOG.warn(
                    "{}: {} of {} tensors are left out, since hvd has no such type of elements: {}{}. Convert them before if"
                            + " you need them",
                    file,
                    names.size(),
                    header.entries().size(),
                    String.join(", ", names.subList(0, Math.min(MOST_NAMES, names.size()))),
                    names.size() > MOST_NAMES ? ", ..." : "");
        }
    }

    private Tensor empty(DType type, Shape shape, long bytes) {
        if (bytes <= SMALL_BYTES) {
            return Tensor.zeros(type, shape);
        }
        List<ByteBuffer> buffers = new ArrayList<>();
        for (long from = 0; from < bytes; from += longestBuffer) {
            buffers.add(BufferLedger.PROCESS.direct(Owner.CHECKPOINTS, (int) Math.min(longestBuffer, bytes - from)));
        }
        return Tensor.wrap(buffers, type, shape);
    }

    /** @param end of the file */
    private void verify(boolean isSummed, CheckpointHeader header, long end) throws DamagedCheckpoint {
        Map<String, String> words = header.words();
        if (!isSummed) {
            LOG.warn(
                    "{} has no checksum, so nobody knows whether it is damaged: another program has written it, or an"
                            + " hvd before there were any",
                    file);
        } else if (!checksum.digits().equals(words.get(FileChecksum.KEY))) {
            throw new DamagedCheckpoint("its CRC-32C is " + checksum.digits() + ", expected "
                    + words.get(FileChecksum.KEY)
                    + " as its header says. " + sums.damage(header, end - header.dataBytes())
                    + "Take an older file, or, if another program has"
                    + " changed this one, have it leave out the word \"" + FileChecksum.KEY + "\"");
        }
    }

    private static Map<String, String> wordsOfTheUser(Map<String, String> words) {
        Map<String, String> others = new LinkedHashMap<>(words);
        others.remove(FileChecksum.KEY);
        return others;
    }

    private void fill(ByteBuffer bytes) throws IOException, DamagedCheckpoint {
        while (bytes.hasRemaining()) {
            if (channel.read(bytes) < 0) {
                throw new DamagedCheckpoint("it ends " + bytes.remaining() + " bytes too early");
            }
        }
    }
}
