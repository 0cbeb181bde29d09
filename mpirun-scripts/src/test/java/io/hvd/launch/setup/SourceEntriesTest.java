package io.hvd.launch.setup;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class SourceEntriesTest {

    @Test
    void aStanzaKeepsEverythingButItsTypes() {
        assertThat(SourceEntries.ofStanzas(List.of(
                        "Types: deb deb-src",
                        "URIs: http://archive.invalid/debian",
                        "Signed-By: /keys/a.gpg",
                        "",
                        "types: deb")))
                .containsExactly(
                        "Types: deb-src",
                        "URIs: http://archive.invalid/debian",
                        "Signed-By: /keys/a.gpg",
                        "",
                        "Types: deb-src");
    }

    @Test
    void anEntryKeepsItsOptionsAndIsThereOnce() {
        assertThat(SourceEntries.ofLines(List.of(
                        "# deb http://comment.invalid a main",
                        "deb [signed-by=/keys/a.gpg] http://archive.invalid/debian bookworm main",
                        "  deb-src [signed-by=/keys/a.gpg] http://archive.invalid/debian bookworm main",
                        "deb cdrom:[disk]/ bookworm main",
                        "")))
                .containsExactly("deb-src [signed-by=/keys/a.gpg] http://archive.invalid/debian bookworm main");
    }
}
