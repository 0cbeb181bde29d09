package io.hvd.examples.volume;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import io.hvd.data.cuda.BatchLayout;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.List;

/** A volume with its values in 0..1, and the cubes of it that one training step sees. */
record CropSample(LabelledVolume volume, List<CubeCrop> crops) {
    /**
     * The volumes of a training with fresh crops in each epoch. They depend on the seed, the epoch and the volume's index, whichever
     * rank, worker and thread reads it.
     */
    static final class Source implements Dataset<CropSample> {
        private final Dataset<LabelledVolume> volumes;
        private final int side;
        private final int count;
        private final long seed;
        private volatile int epoch;

        /** @param side voxels of a cube's side @param count cubes of a volume */
        Source(Dataset<LabelledVolume> volumes, int side, int count, long seed) {
            this.volumes = volumes;
            this.side = side;
            this.count = count;
            this.seed = seed;
        }

        /** Sets the epoch of the crops of the loader's next iteration, as the sampler's method of the same name sets that of the order. */
        void setEpoch(int epoch) {
            this.epoch = epoch;
        }

        @Override
        public int size() {
            return volumes.size();
        }

        @Override
        public CropSample get(int index) throws Exception {
            LabelledVolume volume = volumes.get(index).scaled();
            SplitMix64 ofEpoch = new SplitMix64(new SplitMix64(seed).nextLong() + epoch);
            SplitMix64 random = new SplitMix64(ofEpoch.nextLong() + index);
            List<CubeCrop> crops = CubeCrop.choose(volume.label(), side, count, random);
            return new CropSample(volume, crops);
        }
    }

    /**
     * Two tensors of a batch, the images and the masks, which are 0 or 1: (volumes, crops, 1, side, side, side).
     */
    record Layout(int side, int count) implements BatchLayout<CropSample> {
        @Override
        public List<Field> fields() {
            Shape shape = Shape.of(count, 1, side, side, side);
            return List.of(new Field("image", DType.FLOAT32, shape), new Field("label", DType.FLOAT32, shape));
        }

        @Override
        public void write(CropSample sample, List<ByteBuffer> to) {
            FloatBuffer images = to.get(0).asFloatBuffer();
            FloatBuffer labels = to.get(1).asFloatBuffer();
            for (CubeCrop crop : sample.crops) {
                crop.copy(sample.volume.image(), images);
                crop.copy(sample.volume.label(), labels);
            }
            labels.flip();
            for (int i = 0; i < labels.limit(); i++) {
                labels.put(i, labels.get(i) != 0 ? 1 : 0);
            }
        }
    }
}
