package io.hvd.data.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.GZIPInputStream;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.hadoop.CodecFactory;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;

/**
 * What decompresses pages without Hadoop: parquet-java's own codecs for Snappy, Zstandard and raw LZ4, and the JDK's for gzip, for which
 * parquet-java takes Hadoop's.
 */
final class Codecs implements CompressionCodecFactory {
    private final CodecFactory others = new CodecFactory(new PlainParquetConfiguration(), 0);

    @Override
    public BytesInputDecompressor getDecompressor(CompressionCodecName name) {
        return switch (name) {
            case GZIP -> new Gunzip();
            case UNCOMPRESSED, SNAPPY, ZSTD, LZ4_RAW -> others.getDecompressor(name);
            default ->
                throw new UnsupportedOperationException(
                        "it is compressed with " + name + ", expected UNCOMPRESSED, SNAPPY, GZIP, ZSTD or LZ4_RAW");
        };
    }

    @Override
    public BytesInputCompressor getCompressor(CompressionCodecName name) {
        return others.getCompressor(name);
    }

    @Override
    public void release() {
        others.release();
    }

    private static final class Gunzip implements BytesInputDecompressor {
        @Override
        public BytesInput decompress(BytesInput bytes, int decompressedSize) throws IOException {
            return BytesInput.from(gunzip(bytes, decompressedSize));
        }

        @Override
        public void decompress(ByteBuffer input, int compressedSize, ByteBuffer output, int decompressedSize)
                throws IOException {
            ByteBuffer compressed = input.slice(input.position(), compressedSize);
            output.put(gunzip(BytesInput.from(compressed), decompressedSize));
            input.position(input.position() + compressedSize);
        }

        private static byte[] gunzip(BytesInput bytes, int decompressedSize) throws IOException {
            try (var stream = new GZIPInputStream(bytes.toInputStream())) {
                return stream.readNBytes(decompressedSize);
            }
        }

        @Override
        public void release() {
            // it holds nothing
        }
    }
}
