package io.hvd.examples.volume;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The description of the voxels in the 348 bytes at the beginning of a NIfTI-1 file.
 *
 * @param slope factor of each voxel, and the number that is then added to it; 1 and 0 if the file has no scale
 * @param offset the byte at which the voxels begin
 * @see <a href="https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h">nifti1.h, the definition of the format</a>
 */
record NiftiHeader(
        ByteOrder order,
        int width,
        int height,
        int depth,
        VoxelType type,
        double slope,
        double intercept,
        long offset,
        VoxelSpace space) {
    static final int BYTES = 348;
    static final int DIM = 40;
    static final int DATATYPE = 70;
    static final int BITPIX = 72;
    static final int PIXDIM = 76;
    static final int VOX_OFFSET = 108;
    static final int SCL_SLOPE = 112;
    static final int SCL_INTER = 116;
    static final int XYZT_UNITS = 123;
    static final int QFORM_CODE = 252;
    static final int SFORM_CODE = 254;
    static final int QUATERN_B = 256;
    static final int SROW_X = 280;
    static final int MAGIC = 344;

    /** The header, and four bytes that say that no extension follows. */
    static final int VOXELS_BEGIN = 352;

    private static final int NIFTI_2_BYTES = 540;
    private static final byte[] ONE_FILE = {'n', '+', '1', 0};
    private static final int MOST_DIMENSIONS = 7;
    private static final long MOST_VOXELS = Integer.MAX_VALUE - 8L;

    long voxels() {
        return (long) width * height * depth;
    }

    /** The sizes along x, y and z, in words. */
    String sizes() {
        return width + "x" + height + "x" + depth;
    }

    /** @param file for messages @param bytes the first {@value #BYTES} bytes of the file, decompressed */
    static NiftiHeader read(Path file, byte[] bytes) throws IOException {
        ByteBuffer header = ByteBuffer.wrap(bytes).order(order(file, bytes));
        requireMagic(file, header);
        int[] sizes = sizes(file, header);
        VoxelType type = type(file, header);
        double slope = header.getFloat(SCL_SLOPE);
        boolean isScaled = slope != 0 && Double.isFinite(slope);
        return new NiftiHeader(
                header.order(),
                sizes[0],
                sizes[1],
                sizes[2],
                type,
                isScaled ? slope : 1,
                isScaled ? intercept(file, header) : 0,
                offset(file, header),
                VoxelSpace.read(header));
    }

    private static ByteOrder order(Path file, byte[] bytes) throws IOException {
        for (ByteOrder order : new ByteOrder[] {ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN}) {
            int size = ByteBuffer.wrap(bytes).order(order).getInt(0);
            if (size == BYTES) {
                return order;
            }
            if (size == NIFTI_2_BYTES) {
                throw wrong(file, "sizeof_hdr", 0, "540, which is NIfTI-2", "348, NIfTI-1");
            }
        }
        int size = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(0);
        throw wrong(
                file,
                "sizeof_hdr",
                0,
                String.valueOf(size),
                "348 in either byte order: this is no NIfTI-1 file" + RegularFile.inWords(file, "gzip", "NIfTI"));
    }

    private static void requireMagic(Path file, ByteBuffer header) throws IOException {
        byte[] magic = new byte[ONE_FILE.length];
        header.get(MAGIC, magic);
        if (!Arrays.equals(magic, ONE_FILE)) {
            String found = new String(magic, StandardCharsets.ISO_8859_1).replaceAll("[^ -~]", ".");
            throw wrong(file, "magic", MAGIC, "\"" + found + "\"", "\"n+1\", a header and its voxels in one file");
        }
    }

    private static int[] sizes(Path file, ByteBuffer header) throws IOException {
        int dimensions = header.getShort(DIM);
        if (dimensions < 3 || dimensions > MOST_DIMENSIONS) {
            throw wrong(file, "dim[0]", DIM, String.valueOf(dimensions), "3 to 7 dimensions");
        }
        int[] sizes = new int[3];
        long voxels = 1;
        for (int i = 1; i <= dimensions; i++) {
            int at = DIM + Short.BYTES * i;
            int size = header.getShort(at);
            if (i > 3 && size != 1) {
                throw wrong(file, "dim[" + i + "]", at, String.valueOf(size), "1: a single channel and moment");
            }
            if (size < 1) {
                throw wrong(file, "dim[" + i + "]", at, String.valueOf(size), "at least 1");
            }
            if (i <= 3) {
                sizes[i - 1] = size;
            }
            voxels *= size;
        }
        if (voxels > MOST_VOXELS) {
            throw wrong(file, "dim", DIM, voxels + " voxels", "at most " + MOST_VOXELS);
        }
        return sizes;
    }

    private static VoxelType type(Path file, ByteBuffer header) throws IOException {
        int code = header.getShort(DATATYPE);
        VoxelType type = VoxelType.ofCode(code).orElse(null);
        if (type == null) {
            throw wrong(file, "datatype", DATATYPE, String.valueOf(code), "one of " + VoxelType.codes());
        }
        int bits = header.getShort(BITPIX);
        if (bits != 8 * type.bytes) {
            throw wrong(file, "bitpix", BITPIX, String.valueOf(bits), 8 * type.bytes + " as datatype " + code + " has");
        }
        return type;
    }

    private static double intercept(Path file, ByteBuffer header) throws IOException {
        double intercept = header.getFloat(SCL_INTER);
        if (!Double.isFinite(intercept)) {
            throw wrong(file, "scl_inter", SCL_INTER, String.valueOf(intercept), "a finite number beside a scl_slope");
        }
        return intercept;
    }

    private static long offset(Path file, ByteBuffer header) throws IOException {
        float offset = header.getFloat(VOX_OFFSET);
        if (!(offset >= VOXELS_BEGIN && offset == Math.rint(offset) && offset < Integer.MAX_VALUE)) {
            throw wrong(
                    file,
                    "vox_offset",
                    VOX_OFFSET,
                    String.valueOf(offset),
                    "a whole number of at least " + VOXELS_BEGIN);
        }
        return (long) offset;
    }

    private static IOException wrong(Path file, String field, int at, String found, String expected) {
        return new IOException(file + ": " + field + " at byte " + at + " is " + found + ", expected " + expected);
    }

    /** The bytes of a file that precede its voxels, which follow without a scale. */
    static byte[] write(Volume volume, VoxelType type) {
        ByteBuffer header = ByteBuffer.allocate(VOXELS_BEGIN).order(ByteOrder.LITTLE_ENDIAN);
        header.putInt(0, BYTES);
        short[] dim = {4, size(volume.width()), size(volume.height()), size(volume.depth()), 1, 1, 1, 1};
        for (int i = 0; i < dim.length; i++) {
            header.putShort(DIM + Short.BYTES * i, dim[i]);
        }
        header.putShort(DATATYPE, (short) type.code);
        header.putShort(BITPIX, (short) (8 * type.bytes));
        header.putFloat(VOX_OFFSET, VOXELS_BEGIN);
        header.putFloat(SCL_SLOPE, 1);
        volume.space().write(header);
        header.put(MAGIC, ONE_FILE);
        return header.array();
    }

    private static short size(int size) {
        if (size > Short.MAX_VALUE) {
            throw new IllegalArgumentException("a side of " + size + " voxels, expected at most " + Short.MAX_VALUE
                    + ", which NIfTI-1 has room for");
        }
        return (short) size;
    }
}
