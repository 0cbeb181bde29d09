package io.hvd.examples.volume;

import io.hvd.file.WholeFile;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;

/**
 * Reads and writes grey volumes as NIfTI-1 files, {@code .nii} and {@code .nii.gz}: a header of 348 bytes in either byte order, then the
 * voxels. What is read may have extensions, a scale, and further dimensions of size 1; voxels become floats, which keep
 * 24 bits of wider types.
 */
public final class Nifti {
    private Nifti() {}

    /**
     * Reads a file, compressed or not.
     *
     * @throws IOException that names the file, and the field or byte that is not as it should be
     */
    public static Volume read(Path file) throws IOException {
        try (NiftiInput in = NiftiInput.open(file)) {
            NiftiHeader header = header(file, in);
            in.skipTo(header.offset(), "what precedes its voxels, up to byte " + header.offset());
            return new Volume(
                    header.width(), header.height(), header.depth(), voxels(file, in, header), header.space());
        }
    }

    /** Reads the header alone. @throws IOException as {@link #read} does */
    static NiftiHeader readHeader(Path file) throws IOException {
        try (NiftiInput in = NiftiInput.open(file)) {
            return header(file, in);
        }
    }

    private static NiftiHeader header(Path file, NiftiInput in) throws IOException {
        byte[] header = new byte[NiftiHeader.BYTES];
        in.fill(header, header.length, "a header of " + NiftiHeader.BYTES);
        return NiftiHeader.read(file, header);
    }

    private static float[] voxels(Path file, NiftiInput in, NiftiHeader header) throws IOException {
        int width = header.type().bytes;
        long end = header.offset() + header.voxels() * width;
        String what = end + ", where its " + header.voxels() + " voxels end";
        in.requireLength(end, what);
        float[] voxels = new float[Math.toIntExact(header.voxels())];
        byte[] piece = new byte[NiftiInput.PIECE];
        ByteBuffer values = ByteBuffer.wrap(piece).order(header.order());
        for (int first = 0; first < voxels.length; first += piece.length / width) {
            int count = Math.min(piece.length / width, voxels.length - first);
            in.fill(piece, count * width, what);
            values.clear();
            for (int i = first; i < first + count; i++) {
                double voxel = header.slope() * header.type().read(values) + header.intercept();
                voxels[i] = (float) voxel;
                if (Float.isInfinite(voxels[i]) && Double.isFinite(voxel)) {
                    throw new IOException(file + ": voxel " + i + " is " + voxel + ", expected at most "
                            + Float.MAX_VALUE + ", which a float has room for");
                }
            }
        }
        return voxels;
    }

    /**
     * Writes a file, compressed if its name ends in {@code .gz}: four dimensions, of which the last one, the channels, is 1. The file is
     * there as a whole or as it was before.
     *
     * @throws IllegalArgumentException that names a voxel which the type has no room for
     */
    public static void write(Path file, Volume volume, VoxelType type) throws IOException {
        requireRoom(volume, type);
        boolean compressed = file.getFileName().toString().endsWith(".gz");
        WholeFile.write(file, channel -> {
            OutputStream plain = Channels.newOutputStream(channel);
            if (compressed) {
                GZIPOutputStream packed = new GZIPOutputStream(plain, NiftiInput.PIECE);
                write(packed, volume, type);
                packed.finish();
            } else {
                BufferedOutputStream buffered = new BufferedOutputStream(plain, NiftiInput.PIECE);
                write(buffered, volume, type);
                buffered.flush();
            }
        });
    }

    private static void requireRoom(Volume volume, VoxelType type) {
        float[] voxels = volume.voxels();
        for (int i = 0; i < voxels.length; i++) {
            if (!type.holds(voxels[i])) {
                throw new IllegalArgumentException(
                        "voxel " + i + " is " + voxels[i] + ", which " + type + " has no room for");
            }
        }
    }

    private static void write(OutputStream to, Volume volume, VoxelType type) throws IOException {
        to.write(NiftiHeader.write(volume, type));
        ByteBuffer piece = ByteBuffer.allocate(NiftiInput.PIECE).order(ByteOrder.LITTLE_ENDIAN);
        for (float voxel : volume.voxels()) {
            type.write(voxel, piece);
            if (!piece.hasRemaining()) {
                to.write(piece.array());
                piece.clear();
            }
        }
        to.write(piece.array(), 0, piece.position());
    }
}
