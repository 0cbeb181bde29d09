package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A comment begins with its subject or its verb: an opening that leans on something outside it has to be decoded. */
class CommentsTest {
    private static final Pattern LEANING =
            Pattern.compile("\\s*(/\\*\\*|/\\*|//|\\*) (The same|Of|So|Who|Whoever)\\b(?! as).*");

    @Test
    void noCommentLeansOnWhatStandsOutsideIt() throws IOException {
        List<String> leaning = new ArrayList<>();
        List<Path> sources = Modules.sources("src");
        assertThat(sources).hasSizeGreaterThan(500);
        for (Path source : sources) {
            for (String line : Files.readAllLines(source)) {
                if (LEANING.matcher(line).matches()) {
                    leaning.add(source.getFileName() + ": " + line.strip());
                }
            }
        }
        assertThat(leaning).isEmpty();
    }
}
