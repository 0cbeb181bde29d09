package io.hvd.job.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ExcerptTest {
    /** As LibTorch's messages are, with its stack of C++. */
    private static final String OF_TORCH = """
            mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)
            Exception raised from meta at /build/aten/src/ATen/native/LinearAlgebra.cpp:194 (most recent call first):
            frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0xac (0x7fc08917f47c in /cache/libc10.so)
            frame #1: at::_ops::addmm::redispatch(c10::DispatchKeySet) + 0x124 (0x7fc07b31e3d4 in /cache/libtorch_cpu.so)
            frame #2: <unknown function> + 0x5053440 (0x7fc07de53440 in /cache/libtorch_cpu.so)
            frame #10: [0x7fc13894557a]

            """;

    private static <T extends Throwable> T at(T thrown, String... frames) {
        thrown.setStackTrace(Stream.of(frames).map(ExcerptTest::frame).toArray(StackTraceElement[]::new));
        return thrown;
    }

    /** @param text such as {@code com.example.Train.step:42} */
    private static StackTraceElement frame(String text) {
        int colon = text.lastIndexOf(':');
        String place = text.substring(0, colon);
        String type = place.substring(0, place.lastIndexOf('.'));
        String file = type.substring(type.lastIndexOf('.') + 1).replaceFirst("\\$.*", "") + ".java";
        return new StackTraceElement(
                type, place.substring(place.lastIndexOf('.') + 1), file, Integer.parseInt(text.substring(colon + 1)));
    }

    private static String[] deep(String... outermost) {
        return Stream.concat(
                        IntStream.range(0, 20).mapToObj(i -> "java.nio.file.Files.read:" + i), Arrays.stream(outermost))
                .toArray(String[]::new);
    }

    private static List<String> lines(Throwable thrown) {
        List<String> lines = Excerpt.stack(thrown).lines().toList();
        assertThat(lines).hasSizeLessThanOrEqualTo(25);
        return lines;
    }

    @Test
    void theProgramsLineStaysHoweverManyFramesOfTheJdkAreBeforeIt() {
        var thrown = at(new NoSuchFileException("/data/corpus.txt"), deep("Train.main:6"));
        assertThat(lines(thrown))
                .containsExactly(
                        "java.nio.file.NoSuchFileException: /data/corpus.txt",
                        "\tat java.nio.file.Files.read(Files.java:0)",
                        "\t... 19 more frames",
                        "\tat Train.main(Train.java:6)");
        assertThat(Excerpt.summary(thrown)).isEqualTo("java.nio.file.NoSuchFileException: /data/corpus.txt");
    }

    @Test
    void theInnermostFrameMayBeTheOnlyOneOfTheProgram() {
        String[] pool = deep();
        var task = at(
                new IllegalStateException("no"),
                Stream.concat(Stream.of("Train.lambda$main$0:7"), Arrays.stream(pool))
                        .toArray(String[]::new));
        assertThat(lines(task))
                .containsExactly(
                        "java.lang.IllegalStateException: no",
                        "\tat Train.lambda$main$0(Train.java:7)",
                        "\t... 20 more frames");

        var endless = at(
                new StackOverflowError(),
                IntStream.range(0, 1024).mapToObj(i -> "Train.sum:9").toArray(String[]::new));
        assertThat(lines(endless))
                .containsExactly(
                        "java.lang.StackOverflowError", "\tat Train.sum(Train.java:9)", "\t... 1023 more frames");
    }

    @Test
    void nativeFramesAreNoPartOfTheMessage() {
        var thrown = at(new RuntimeException(OF_TORCH), "org.bytedeco.pytorch.LinearImpl.forward:-2", "Train.main:6");
        assertThat(Excerpt.summary(thrown))
                .isEqualTo("java.lang.RuntimeException: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)");
        assertThat(lines(thrown))
                .containsExactly(
                        "java.lang.RuntimeException: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)",
                        "\tat org.bytedeco.pytorch.LinearImpl.forward(Native Method)",
                        "\tat Train.main(Train.java:6)");
        var captured = new RuntimeException(
                "bad index\nC++ CapturedTraceback:\n#4 c10::Error::Error() from ??:0\n#5 f from x.cpp:3\nthe end");
        assertThat(lines(at(captured, "Train.main:6"))).startsWith("java.lang.RuntimeException: bad index", "the end");
    }

    @Test
    void theDeepestCauseHasItsMessageAndItsFrames() {
        var root = at(
                new IllegalStateException("the label is 12"),
                deep("com.example.data.Labels.of:31", "com.example.Train.main:9"));
        var between = at(new InvocationTargetException(root), deep());
        var thrown = at(new CompletionException(between), deep("com.example.Train.main:9"));
        assertThat(Excerpt.summary(thrown))
                .isEqualTo("java.util.concurrent.CompletionException: java.lang.reflect.InvocationTargetException,"
                        + " caused by java.lang.IllegalStateException: the label is 12");
        assertThat(lines(thrown))
                .containsSubsequence(
                        "\tat com.example.Train.main(Train.java:9)",
                        "Caused by: java.lang.reflect.InvocationTargetException",
                        "Caused by: java.lang.IllegalStateException: the label is 12",
                        "\tat com.example.data.Labels.of(Labels.java:31)",
                        "\tat com.example.Train.main(Train.java:9)");
        var said = new RuntimeException("the label is 12", new IllegalStateException("the label is 12"));
        assertThat(Excerpt.summary(said)).isEqualTo("java.lang.RuntimeException: the label is 12");
    }

    @Test
    void framesOfLanguagesAndLibrariesAreNotTheProgramsOwn() {
        var thrown = at(
                new IllegalArgumentException(),
                "kotlin.collections.CollectionsKt.first:9",
                "scala.collection.immutable.List.head:9",
                "ai.djl.pytorch.jni.JniUtils.add:9",
                "io.hvd.optimizer.Sgd.step:9",
                "com.fasterxml.jackson.ObjectMapper.read:1",
                "com.fasterxml.jackson.ObjectMapper.read:2",
                "com.fasterxml.jackson.ObjectMapper.read:3",
                "org.acme.Train$Step.lambda$run$0:40",
                "org.acme.Train$$Lambda$12.run:1",
                "kotlin.concurrent.ThreadsKt.run:9",
                "org.acme.TrainKt.main:7",
                "java.lang.Thread.run:1");
        assertThat(lines(thrown)).first().isEqualTo("java.lang.IllegalArgumentException");
        assertThat(lines(thrown))
                .contains(
                        "\tat org.acme.Train$Step.lambda$run$0(Train.java:40)",
                        "\tat org.acme.TrainKt.main(TrainKt.java:7)")
                .noneMatch(line -> line.contains("scala.") || line.contains("ai.djl") || line.contains("io.hvd"));
    }

    @Test
    void aStackOverflowShowsEachFrameOnce() {
        List<String> frames = new ArrayList<>(
                IntStream.range(0, 1024).mapToObj(i -> "Tree.depth:5").toList());
        frames.add("Tree.main:2");
        var thrown = at(new StackOverflowError(), frames.toArray(String[]::new));
        assertThat(lines(thrown))
                .containsExactly(
                        "java.lang.StackOverflowError",
                        "\tat Tree.depth(Tree.java:5)",
                        "\t... 1023 more frames",
                        "\tat Tree.main(Tree.java:2)");
    }

    @Test
    void anErrorOfAnInitializerNamesWhatWasThrownThere() {
        var thrown = at(
                new ExceptionInInitializerError(at(
                        new NumberFormatException("For input string: \"x\""),
                        "java.lang.Integer.parseInt:1",
                        "Config.<clinit>:3")),
                "Train.main:1");
        assertThat(Excerpt.summary(thrown))
                .endsWith(", caused by java.lang.NumberFormatException: For input string: \"x\"");
        assertThat(lines(thrown)).last().isEqualTo("\tat Config.<clinit>(Config.java:3)");
    }

    @Test
    void aMessageOfAMegabyteAndOneOfManyLinesAreCut() {
        var wide = at(new RuntimeException("x".repeat(1 << 20)), "Train.main:1");
        assertThat(Excerpt.summary(wide)).endsWith("x ... (1048576 characters)").hasSizeLessThan(1100);
        assertThat(lines(wide)).last().isEqualTo("\tat Train.main(Train.java:1)");

        var high = at(new RuntimeException("one\n\ntwo\r\nthree\nfour\nfive"), "Train.main:1");
        assertThat(lines(high))
                .containsExactly(
                        "java.lang.RuntimeException: one",
                        "two",
                        "three",
                        "... 2 more lines of this message",
                        "\tat Train.main(Train.java:1)");
        assertThat(Excerpt.summary(high)).isEqualTo("java.lang.RuntimeException: one");
    }

    @Test
    void causesInACircleSuppressedOnesAndBrokenMessagesAreSurvived() {
        var first = at(new RuntimeException("a"), "Train.main:1");
        var second = at(new RuntimeException("b", first), "Train.main:2");
        first.initCause(second);
        first.addSuppressed(new IllegalStateException("close failed"));
        assertThat(lines(first))
                .contains(
                        "\tSuppressed: java.lang.IllegalStateException: close failed",
                        "Caused by: java.lang.RuntimeException: b");

        var broken = at(
                new RuntimeException() {
                    private static final long serialVersionUID = 1;

                    @Override
                    public String getMessage() {
                        throw new IllegalStateException("no message");
                    }
                },
                "Train.main:3");
        assertThat(lines(broken).get(0)).contains("its message could not be had: java.lang.IllegalStateException");
        assertThat(lines(new Exception("no stack", null) {
                    private static final long serialVersionUID = 1;

                    @Override
                    public synchronized Throwable fillInStackTrace() {
                        return this;
                    }
                }))
                .singleElement()
                .asString()
                .endsWith(": no stack");
    }

    @Test
    void manyCausesAreOneScreen() {
        Throwable thrown = at(new RuntimeException("root"), deep("Train.main:1"));
        for (int i = 0; i < 300; i++) {
            thrown = at(new RuntimeException("m" + i + "\n2\n3\n4\n5", thrown), deep("Train.main:1"));
        }
        assertThat(lines(thrown)).anyMatch(line -> line.endsWith("more causes between"));
    }
}
