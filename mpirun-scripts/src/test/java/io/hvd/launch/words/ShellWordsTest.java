package io.hvd.launch.words;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ShellWordsTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {"a  b|a,b", "'a b' c|a b,c", "a\\ b|a b", "x='1 2'y|x=1 2y", "\"a'b\"|a'b", "'a\"\\b'|a\"\\b"})
    void wordsAreSplitAsAShellDoes(String line, String words) {
        assertThat(ShellWords.split("--mpi-args", line)).containsExactly(words.split(","));
    }

    @Test
    void emptyQuotesAreAWordAndBlanksAreNone() {
        assertThat(ShellWords.split("--mpi-args", "a '' b")).containsExactly("a", "", "b");
        assertThat(ShellWords.split("--mpi-args", "  \t ")).isEmpty();
    }

    @Test
    void whatIsJoinedSplitsIntoTheSameWords() {
        List<String> words = List.of("java", "-cp", "a:b/*", "it's $HOME", "", "a\"b", "x=1,2");

        assertThat(ShellWords.split("--mpi-args", ShellWords.join(words))).isEqualTo(words);
        assertThat(ShellWords.join(List.of("mpirun", "-np", "4", "a b"))).isEqualTo("mpirun -np 4 'a b'");
    }
}
