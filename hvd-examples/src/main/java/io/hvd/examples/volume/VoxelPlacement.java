package io.hvd.examples.volume;

import java.util.Locale;

/**
 * Where the voxels of a volume lie in the body, by the methods of nifti1.h: the affine map if it has a code, else the rotation if
 * that has one, else the distances of voxels alone, which say nothing of orientation and place.
 *
 * @param map by x, y and z of the body (to the right, to the front, to the head), each the factors of the three voxel indices and
 *     what is added, in millimetres
 * @param known whether the header has a code for one of the maps
 */
@SuppressWarnings("ArrayRecordComponent")
record VoxelPlacement(double[][] map, boolean known) {
    private static final String[] NEGATIVE = {"L", "P", "I"};
    private static final String[] POSITIVE = {"R", "A", "S"};
    private static final int UNIT_OF_SPACE = 7;
    private static final double SHARE_OF_A_VOXEL = 0.1;

    static VoxelPlacement of(VoxelSpace space) {
        double[][] map = space.sform() > 0
                ? affine(space.affine())
                : space.qform() > 0 ? rotated(space) : distances(space.pixdim());
        double millimetres =
                switch (space.units() & UNIT_OF_SPACE) {
                    case 1 -> 1000;
                    case 3 -> 0.001;
                    default -> 1;
                };
        for (double[] row : map) {
            for (int i = 0; i < row.length; i++) {
                row[i] *= millimetres;
            }
        }
        return new VoxelPlacement(map, space.sform() > 0 || space.qform() > 0);
    }

    private static double[][] affine(float[] rows) {
        double[][] map = new double[3][4];
        for (int i = 0; i < rows.length; i++) {
            map[i / 4][i % 4] = rows[i];
        }
        return map;
    }

    private static double[][] distances(float[] pixdim) {
        return new double[][] {{side(pixdim[1]), 0, 0, 0}, {0, side(pixdim[2]), 0, 0}, {0, 0, side(pixdim[3]), 0}};
    }

    private static double side(float distance) {
        return distance == 0 ? 1 : Math.abs(distance);
    }

    /** A quaternion whose first part follows from the others, as its length is 1. */
    private static double[][] rotated(VoxelSpace space) {
        double b = space.rotation()[0];
        double c = space.rotation()[1];
        double d = space.rotation()[2];
        double rest = 1 - (b * b + c * c + d * d);
        double a = Math.sqrt(Math.max(0, rest));
        if (rest < 0) {
            double length = Math.sqrt(b * b + c * c + d * d);
            b /= length;
            c /= length;
            d /= length;
        }
        double[][] map = {
            {a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c), space.rotation()[3]},
            {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b), space.rotation()[4]},
            {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b, space.rotation()[5]}
        };
        float[] pixdim = space.pixdim();
        for (double[] row : map) {
            row[0] *= side(pixdim[1]);
            row[1] *= side(pixdim[2]);
            row[2] *= pixdim[0] < 0 ? -side(pixdim[3]) : side(pixdim[3]);
        }
        return map;
    }

    /** Whether each voxel of two volumes of these sizes lies in the same place, but for a tenth of a voxel. */
    boolean isThatOf(VoxelPlacement other, int width, int height, int depth) {
        double most = SHARE_OF_A_VOXEL * Math.min(distance(0), Math.min(distance(1), distance(2)));
        for (int corner = 0; corner < 8; corner++) {
            double[] at = {
                (corner & 1) == 0 ? 0 : width - 1,
                (corner & 2) == 0 ? 0 : height - 1,
                (corner & 4) == 0 ? 0 : depth - 1,
                1
            };
            for (int axis = 0; axis < 3; axis++) {
                double apart = 0;
                for (int i = 0; i < at.length; i++) {
                    apart += (map[axis][i] - other.map[axis][i]) * at[i];
                }
                if (!(Math.abs(apart) <= most)) { // not a number is no place
                    return false;
                }
            }
        }
        return true;
    }

    boolean hasDistancesOf(VoxelPlacement other) {
        for (int axis = 0; axis < 3; axis++) {
            if (!(Math.abs(distance(axis) - other.distance(axis)) <= SHARE_OF_A_VOXEL * distance(axis))) {
                return false;
            }
        }
        return true;
    }

    /** The distance of two voxels that are neighbours along an axis of the voxels. */
    private double distance(int voxelAxis) {
        return Math.sqrt(map[0][voxelAxis] * map[0][voxelAxis]
                + map[1][voxelAxis] * map[1][voxelAxis]
                + map[2][voxelAxis] * map[2][voxelAxis]);
    }

    /** Orientation and distances, for those who compare volumes: {@code RAS with voxels of 1x1x2.5 mm}. */
    String shape() {
        return (known ? axes() : "no orientation") + " with voxels of " + number(distance(0)) + "x"
                + number(distance(1)) + "x" + number(distance(2)) + " mm";
    }

    /** As {@link #shape}, with the place of the first voxel. */
    String inWords() {
        return shape()
                + (known
                        ? ", the first at (" + number(map[0][3]) + ", " + number(map[1][3]) + ", " + number(map[2][3])
                                + ")"
                        : "");
    }

    /** The direction of the body in which each axis of the voxels mostly runs, by its letter. */
    private String axes() {
        StringBuilder axes = new StringBuilder();
        for (int voxelAxis = 0; voxelAxis < 3; voxelAxis++) {
            int most = 0;
            for (int axis = 1; axis < 3; axis++) {
                if (Math.abs(map[axis][voxelAxis]) > Math.abs(map[most][voxelAxis])) {
                    most = axis;
                }
            }
            axes.append(map[most][voxelAxis] < 0 ? NEGATIVE[most] : POSITIVE[most]);
        }
        return axes.toString();
    }

    private static String number(double value) {
        String text = String.format(Locale.ROOT, "%.3f", value);
        return text.replaceFirst("\\.?0+$", "").replaceFirst("^-0$", "0");
    }
}
