package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Saves a training at the end of an epoch, and continues it. Only rank 0 of the job reads and writes the file. */
final class TrainingCheckpoint {
    /** The key of an entry that every checkpoint has: the number of epochs that are done. */
    static final String EPOCHS = "epochs";

    private static final String OPTIMIZER = "optimizer";
    private static final String MODEL = "model.";

    private final HvdContext hvd;
    private final ImageClassifier model;
    private final Optimizer optimizer;
    private final Optional<Path> file;

    TrainingCheckpoint(HvdContext hvd, ImageClassifier model, Optimizer optimizer, Optional<Path> file) {
        this.hvd = hvd;
        this.model = model;
        this.optimizer = optimizer;
        this.file = file;
    }

    /**
     * @param words entries that {@link #restore} returns, including {@link #EPOCHS}; each value is a single line
     * @param best whether to write a second file beside it, with the best model so far
     */
    void save(Map<String, String> words, boolean best) throws IOException {
        if (hvd.rank() > 0 || file.isEmpty()) {
            return;
        }
        TreeMap<String, Tensor> tensors = new TreeMap<>();
        StateDict.of(model).forEach((name, tensor) -> tensors.put(MODEL + name, tensor));
        Checkpoint checkpoint = new Checkpoint(
                        tensors, new TreeMap<>(words)) // sorted: Map.of has another order in each process
                .withState(OPTIMIZER, optimizer.wholeState());
        checkpoint.write(file.get());
        if (best) {
            checkpoint.write(bestOf(file.get()));
        }
    }

    /** The file of the best model, such as {@code a/model_best-net.ckpt} for {@code a/net.ckpt}. */
    static Path bestOf(Path file) {
        return file.resolveSibling("model_best-" + file.getFileName());
    }

    /**
     * Loads the file on rank 0; the other ranks get its content by the broadcasts with which every training starts.
     *
     * @param needed whether a missing file is an error, on every rank
     * @return the file's entries, the same on every rank; empty if there is no such file
     */
    Map<String, String> restore(boolean needed) throws IOException {
        boolean found = hvd.rank() == 0 && file.isPresent() && Files.exists(file.get());
        String words = hvd.broadcastObject("resume.words", found ? lines(load(file.get())) : "", ObjectCodec.utf8(), 0);
        if (words.isEmpty() && needed) {
            throw new NoSuchFileException(String.valueOf(file.orElse(null)), null, "rank 0 finds no checkpoint");
        }
        return words(words);
    }

    private Map<String, String> load(Path existing) throws IOException {
        Checkpoint checkpoint = Checkpoint.read(existing);
        TreeMap<String, Tensor> saved = new TreeMap<>();
        checkpoint.tensors().forEach((name, tensor) -> {
            if (name.startsWith(MODEL)) {
                saved.put(name.substring(MODEL.length()), tensor);
            }
        });
        try {
            StateDict.load(model, saved);
        } catch (HvdException e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, existing + " is of another model: " + e.getMessage(), e);
        }
        loadOptimizer(existing, checkpoint);
        return wordsOf(existing, checkpoint);
    }

    private void loadOptimizer(Path existing, Checkpoint checkpoint) {
        try {
            optimizer.loadNamedState(checkpoint.state(OPTIMIZER));
        } catch (HvdException e) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    existing
                            + " is of no training, or of one with another optimizer or another precision; resume it with the"
                            + " flags that wrote it, --amp among them: " + e.getMessage(),
                    e);
        }
    }

    /** The entries of a checkpoint, whose values are single lines. */
    private static Map<String, String> wordsOf(Path existing, Checkpoint checkpoint) {
        Map<String, String> words = new LinkedHashMap<>(checkpoint.metadata());
        words.entrySet()
                .removeIf(word -> word.getKey().startsWith(OPTIMIZER + ".")
                        || (word.getKey() + word.getValue()).lines().count() > 1);
        String epochs = words.getOrDefault(EPOCHS, "");
        if (!epochs.matches("[0-9]{1,9}")) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    existing + " is of no training: its word \"" + EPOCHS + "\" is \"" + epochs
                            + "\", expected a number");
        }
        return words;
    }

    private static String lines(Map<String, String> words) {
        return words.entrySet().stream()
                .map(word -> word.getKey() + "=" + word.getValue())
                .collect(Collectors.joining("\n"));
    }

    private static Map<String, String> words(String lines) {
        Map<String, String> words = new LinkedHashMap<>();
        lines.lines().map(line -> line.split("=", 2)).forEach(pair -> words.put(pair[0], pair[1]));
        return words;
    }
}
