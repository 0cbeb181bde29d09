package io.hvd.transformers;

import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.nio.file.Path;

/** all-MiniLM-L6-v2 from the class path of the tests. */
final class MiniLm {
    private MiniLm() {}

    static Path jar() throws IOException {
        var entry = (JarURLConnection)
                MiniLm.class.getResource("/all-minilm-l6-v2.onnx").openConnection();
        try {
            return Path.of(entry.getJarFileURL().toURI());
        } catch (URISyntaxException e) {
            throw new IOException(e);
        }
    }

    static PretrainedModel files() throws IOException {
        return PretrainedModel.at(jar());
    }
}
