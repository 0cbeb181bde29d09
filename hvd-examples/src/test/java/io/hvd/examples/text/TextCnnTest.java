package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The net of {@code textcnn}, and the sentences and word vectors that it reads. */
class TextCnnTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void unpackLibTorch() {
        TorchRuntime.prepare();
    }

    @Test
    void itHasTheLayersOfThePaper() {
        TextCnn net = new TextCnn(5002, 300, 5, false);

        long count = TorchTensors.parameters(net).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();
        assertThat(count).isEqualTo(5002 * 300 + 100 * (3 + 4 + 5) * 300 + 300 + 5 * 300 + 5);
        assertThat(TorchTensors.parameters(net))
                .containsKeys("embedding.weight", "layers.conv3.weight", "layers.conv5.bias", "layers.dense.weight");
        Tensor scores = net.forward(Tensor.create(new long[2 * 5], 2, 5));
        assertThat(scores.sizes().vec().get()).containsExactly(2, 5);
        assertThat(scores.exp().sum().item_float()).isCloseTo(2, within(1e-5f));
    }

    @Test
    void paddingHasNoVectorAndTheVectorsOfAFileTakeTheirWordsPlaces() throws Exception {
        Path file = Files.writeString(folder.resolve("vectors"), "3 2\nred 1 -0.5\nblue 2e-1 3\ngreen 7 8\n");
        List<String> words = List.of(Corpus.PADDING, Corpus.UNKNOWN, "blue", "grey", "red");
        TextCnn net = SeededModule.seeded(3, () -> new TextCnn(5, 2, 2, false));
        float[] before = TorchTensors.parameters(net).get("embedding.weight").toFloatArray();

        WordVectors vectors = WordVectors.of(file, words);
        assertThat(net.load(vectors, words)).isEqualTo(2);

        float[] after = TorchTensors.parameters(net).get("embedding.weight").toFloatArray();
        assertThat(after).containsExactly(0, 0, before[2], before[3], 0.2f, 3, before[6], before[7], 1, -0.5f);
    }

    @ParameterizedTest
    @CsvSource({
        "'two words', 'line 1: found \"two words\", expected the numbers of words and of dimensions'",
        "'', 'line 1: found \"null\"'",
        "'1 2;red 1', 'line 2: found 1 numbers behind the word \"red\", expected 2'",
        "'1 2;red 1 x', 'line 2: found \"x\", expected a number'",
        "'2 2;red 1 2', 'vectors of 1 words, expected 2'",
    })
    void whatIsWrongInAFileOfVectorsIsNamed(String text, String message) throws Exception {
        Path file = Files.writeString(folder.resolve("vectors"), text.replace(';', '\n'));

        assertThatThrownBy(() -> WordVectors.of(file, List.of("red")))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--vectors " + file, message);
    }

    @Test
    void sentencesAreReadWithTheirLabelsAndEveryTenthIsForTheTest() throws Exception {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            text.append(i % 2 == 0 ? "good" : "bad")
                    .append("\tIt's Fine, number ")
                    .append(i)
                    .append("!\n");
        }
        Path file = Files.writeString(folder.resolve("sentences"), text);

        Corpus corpus = Corpus.of(LabelledSentences.of(file), 5);

        assertThat(corpus.labels()).containsExactly("bad", "good");
        assertThat(corpus.words()).startsWith(Corpus.PADDING, Corpus.UNKNOWN, "fine", "it's", "number", "0");
        assertThat(corpus.train()).hasSize(18);
        assertThat(corpus.train().get(0))
                .usingRecursiveComparison()
                .isEqualTo(new Corpus.Sample(1, new int[] {3, 2, 4, 5, 0}));
        assertThat(corpus.test()).hasSize(2).allSatisfy(sample -> {
            assertThat(sample.label()).isZero();
            assertThat(sample.words()).containsExactly(3, 2, 4, 1, 0); // a number that no training sentence has
        });
        assertThat(Corpus.of(LabelledSentences.of(file), 2).train().get(0).words())
                .containsExactly(3, 2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\ufeff%s\tnice caf\u00e9\r",
                "%s \tnice cafe\u0301",
                "\u00a0%s\u200b\t\u00a0nice\u00a0caf\u00e9\u200b",
                "\t%s",
                "go\u200bod\tni\u00adce caf\u00e9",
            })
    void whatCannotBeSeenMakesNoFurtherLabelAndNoFurtherWord(String form) throws Exception {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            lines.add((i % 2 == 0 ? "good" : "bad") + "\tnice caf\u00e9");
        }
        lines.add("\u00a0\u200b");
        lines.set(0, form.startsWith("\t") ? lines.get(0) + form.replace("%s", "") : form.replace("%s", "good"));
        Path file = Files.write(folder.resolve("sentences"), lines);

        List<Corpus.Sentence> sentences = LabelledSentences.of(file);

        assertThat(sentences).hasSize(20);
        assertThat(sentences).extracting(Corpus.Sentence::label).containsOnly("good", "bad");
        assertThat(sentences).extracting(Corpus.Sentence::words).containsOnly(List.of("nice", "caf\u00e9"));
    }

    @Test
    void theVowelSignsOfAWordAreInIt() {
        assertThat(LabelledSentences.words("\u0939\u093f\u0928\u094d\u0926\u0940, \u0301!"))
                .containsExactly("\u0939\u093f\u0928\u094d\u0926\u0940");
    }

    @Test
    void aFileOfVectorsMayHaveAMarkTabsAndBlanksAtTheEnd() throws Exception {
        Path file = Files.writeString(
                folder.resolve("vectors"), "\ufeff4 2 \r\nred\t1 2 \r\ncafe\u0301 3 4\t\nred\u200b 5 6\n\u00a0 7 8\n");

        WordVectors vectors = WordVectors.of(file, List.of("red", "caf\u00e9", "grey"));

        assertThat(vectors.vectors()).containsOnlyKeys("red", "caf\u00e9");
        assertThat(vectors.vectors().get("red")).containsExactly(1, 2);
        assertThat(vectors.vectors().get("caf\u00e9")).containsExactly(3, 4);
    }

    @ParameterizedTest
    @CsvSource({
        "'good\tfine;bad', 'line 2: found \"bad\", expected LABEL TAB TEXT'",
        "'\tfine', 'line 1: found'",
        "'good\t, !', 'line 1: found'",
        "'good\tfine;bad\tpoor', '2 sentences with 2 different labels, expected at least 20 with 2'",
    })
    void whatIsWrongInAFileOfSentencesIsNamed(String text, String message) throws Exception {
        Path file = Files.writeString(folder.resolve("sentences"), text.replace(';', '\n'));

        assertThatThrownBy(() -> LabelledSentences.of(file))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--data " + file, message);
    }

    @Test
    void drawnSentencesDependOnTheSeedAndTheirWordsFollowZipfsLaw() {
        List<Corpus.Sentence> sentences = TopicSentences.of(3000, 7);

        assertThat(TopicSentences.of(3000, 7)).isEqualTo(sentences);
        assertThat(TopicSentences.of(3000, 8)).isNotEqualTo(sentences);
        assertThat(sentences)
                .allSatisfy(sentence -> assertThat(sentence.words()).hasSizeBetween(10, 50));
        Map<String, Long> labels =
                sentences.stream().collect(Collectors.groupingBy(Corpus.Sentence::label, Collectors.counting()));
        assertThat(labels)
                .hasSize(5)
                .allSatisfy((label, count) -> assertThat(count).isBetween(500L, 700L));
        Map<String, Long> words = sentences.stream()
                .flatMap(sentence -> sentence.words().stream())
                .collect(Collectors.groupingBy(word -> word, Collectors.counting()));
        assertThat((double) words.get("w1") / words.get("w1000")).isBetween(300.0, 3000.0);
        assertThat((double) words.get("w1") / words.get("w2")).isBetween(1.5, 2.5);
    }

    @ParameterizedTest
    @CsvSource({
        "--mode pd, --mode",
        "--devices 2, --devices needs --mode dp",
        "--mode dp --devices 0, --devices",
        "--mode dp --sparse rows, --sparse rows beside --mode dp",
        "--sparse some, '[dense, rows]'",
        "--sentence-max-size 4, --sentence-max-size",
        "--data x --sentences 100, --sentences",
        "--vectors x --embedding-dim 4, --embedding-dim",
        "--preset slow, [quick]",
    })
    void aMistakeInTheFlagsIsNamed(String flags, String named) {
        assertThatThrownBy(() -> parse(flags))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(named);
    }

    @Test
    void theBatchIsDealtEvenlyToTheRanks() throws Exception {
        TextCnnOptions options = parse("");

        assertThat(options.globalBatch()).isEqualTo(500);
        assertThat(options.dimensions()).isEqualTo(300);
        assertThat(options.longest()).isEqualTo(50);
        assertThat(options.learningRate()).isEqualTo(1e-3);
        assertThat(options.batchPerRank(4)).isEqualTo(125);
        assertThatThrownBy(() -> options.batchPerRank(3))
                .hasMessageContainingAll("--global-batch", "500", "3 ranks", "498");
    }

    private static TextCnnOptions parse(String flags) throws ParseException {
        String[] words = flags.isEmpty() ? new String[0] : flags.split(" ");
        return TextCnnOptions.from(new DefaultParser().parse(TextCnnOptions.flags(), words));
    }
}
