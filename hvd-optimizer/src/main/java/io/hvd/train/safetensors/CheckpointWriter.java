package io.hvd.train.safetensors;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.file.WholeFile;
import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Brings a checkpoint into a file, piece by piece. Numbers in the file are little-endian, as in memory. */
public final class CheckpointWriter {
    private final FileChannel channel;
    private final ByteBuffer piece;
    private final Converter converter = new Converter();
    private final FileChecksum checksum = new FileChecksum();

    /**
     * @param pieceBytes a multiple of 8
     * @param dataBytes of all tensors
     */
    public CheckpointWriter(FileChannel channel, int pieceBytes, long dataBytes) {
        this.channel = channel;
        this.piece = piece(pieceBytes, dataBytes);
    }

    /** Room for so many bytes, or fewer if there are fewer in all; always for any element. */
    static ByteBuffer piece(int pieceBytes, long dataBytes) {
        int bytes = (int) Math.min(pieceBytes, dataBytes + Long.BYTES);
        return BufferLedger.PROCESS.direct(Owner.CHECKPOINTS, bytes);
    }

    /** @param header with zeros in place of the checksum, which is put there at last */
    public void write(byte[] header, List<CheckpointHeader.Entry> entries, Map<String, Tensor> tensors)
            throws IOException {
        checksum.addHeader(header);
        ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        WholeFile.writeFully(channel, length.putLong(header.length).flip());
        WholeFile.writeFully(channel, ByteBuffer.wrap(header));
        for (CheckpointHeader.Entry entry : entries) {
            write(tensors.get(entry.name()));
        }
        channel.position(FileChecksum.AT);
        WholeFile.writeFully(channel, StandardCharsets.US_ASCII.encode(checksum.digits()));
    }

    private void write(Tensor tensor) throws IOException {
        DType type = tensor.dtype();
        long elements = tensor.elements();
        int most = piece.capacity() / type.bytes();
        for (long done = 0; done < elements; done += most) {
            int run = (int) Math.min(most, elements - done);
            converter.pack(tensor, done, run, piece, 0, type, 1);
            piece.position(0).limit(run * type.bytes());
            checksum.add(piece);
            WholeFile.writeFully(channel, piece);
            piece.clear();
        }
    }
}
