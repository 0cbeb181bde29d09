package io.hvd.examples.volume;

import java.nio.ByteBuffer;

/**
 * Where voxels lie in a body: the fields of a NIfTI-1 header about that, as they stand there. A mask that is written with those
 * of its image lies over it.
 *
 * @param pixdim eight floats: the sign of an axis and the distances of voxels, in {@code units}
 * @param units the byte {@code xyzt_units}; 2 for millimetres
 * @param qform the code of the rotation
 * @param sform the code of the affine map
 * @param rotation {@code quatern_b} to {@code qoffset_z}, six floats
 * @param affine {@code srow_x} to {@code srow_z}, twelve floats
 */
@SuppressWarnings("ArrayRecordComponent")
public record VoxelSpace(float[] pixdim, byte units, short qform, short sform, float[] rotation, float[] affine) {
    private static final byte MILLIMETRES = 2;
    private static final short ALIGNED = 2;

    /** Voxels of one millimetre each, beginning at the origin. */
    static final VoxelSpace UNIT = new VoxelSpace(
            new float[] {1, 1, 1, 1, 1, 1, 1, 1}, MILLIMETRES, (short) 0, ALIGNED, new float[6], new float[] {
                1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0
            });

    static VoxelSpace read(ByteBuffer header) {
        return new VoxelSpace(
                floats(header, NiftiHeader.PIXDIM, 8),
                header.get(NiftiHeader.XYZT_UNITS),
                header.getShort(NiftiHeader.QFORM_CODE),
                header.getShort(NiftiHeader.SFORM_CODE),
                floats(header, NiftiHeader.QUATERN_B, 6),
                floats(header, NiftiHeader.SROW_X, 12));
    }

    void write(ByteBuffer header) {
        put(pixdim, header, NiftiHeader.PIXDIM);
        header.put(NiftiHeader.XYZT_UNITS, units);
        header.putShort(NiftiHeader.QFORM_CODE, qform);
        header.putShort(NiftiHeader.SFORM_CODE, sform);
        put(rotation, header, NiftiHeader.QUATERN_B);
        put(affine, header, NiftiHeader.SROW_X);
    }

    private static float[] floats(ByteBuffer header, int at, int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = header.getFloat(at + Float.BYTES * i);
        }
        return values;
    }

    private static void put(float[] values, ByteBuffer header, int at) {
        for (int i = 0; i < values.length; i++) {
            header.putFloat(at + Float.BYTES * i, values[i]);
        }
    }
}
