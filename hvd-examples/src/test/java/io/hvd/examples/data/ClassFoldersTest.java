package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.text.Normalizer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClassFoldersTest {
    @TempDir
    Path folder;

    private Path file(String name) throws Exception {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, "pixels");
    }

    @Test
    void whatSystemsAndToolsLeaveBehindIsNoClassAndNoImage() throws Exception {
        for (String left : new String[] {
            ".git/a.jpg",
            ".ipynb_checkpoints/a.png",
            "lost+found/a.jpg",
            "__MACOSX/a.jpg",
            "@eaDir/a.jpg",
            ".DS_Store",
            "Thumbs.db",
            "ant/.DS_Store",
            "ant/Thumbs.db",
            "ant/._a.jpg",
            "ant/desktop.ini",
            "ant/notes.txt",
            "ant/@eaDir/a.jpg"
        }) {
            file(left);
        }
        Files.createDirectories(folder.resolve("ant/folder.jpg"));
        Path ant = file("ant/a.jpg");
        Path bee = file("bee/b.PNG");

        ClassFolders listed = ClassFolders.list(folder);

        assertThat(listed.classes()).containsExactly("ant", "bee");
        assertThat(listed.files()).containsExactly(ant, bee);
        assertThat(listed.labels()).containsExactly(0, 1);
        listed.requireImagesOfEveryClass(folder);
    }

    @Test
    void anEmptyClassToTrainOnIsNamed() throws Exception {
        file("ant/a.jpg");
        Files.createDirectories(folder.resolve("bee/deeper"));
        file("bee/deeper/b.jpg");

        assertThatThrownBy(() -> ClassFolders.list(folder).requireImagesOfEveryClass(folder))
                .hasMessageContainingAll(folder.toString(), "\"bee\"", "expected at least one .jpg");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gif", "BMP", "webp", "tif", "tiff", "ppm", "heic"})
    void anImageThatIsNotReadIsNamedRatherThanLeftOut(String ending) throws Exception {
        file("ant/a.jpg");
        Path other = file("ant/b." + ending);

        assertThatThrownBy(() -> ClassFolders.list(folder))
                .hasMessageContainingAll(other.toString(), ".jpg, .jpeg or .png");
    }

    @Test
    void accentsThatAreTypedInTwoWaysAreOneNameAndOneOrder() throws Exception {
        String composed = "\u00e9l\u00e9phant";
        String decomposed = Normalizer.normalize(composed, Normalizer.Form.NFD);
        file("train/" + decomposed + "/a.jpg");
        file("train/f/a.jpg");
        file("val/" + composed + "/a.jpg");
        file("val/f/a.jpg");

        PhotoSets sets = PhotoSets.open(folder.resolve("train"), folder.resolve("val"));

        assertThat(sets.classes()).isEqualTo(2);
        assertThat(ClassFolders.list(folder.resolve("train")).classes())
                .isEqualTo(ClassFolders.list(folder.resolve("val")).classes())
                .containsExactly("f", composed);
    }

    @Test
    void twoFoldersWhoseNamesLookTheSameAreRefusedWithWhatDiffers() throws Exception {
        file("ant/a.jpg");
        file("ant\u200b/a.jpg");

        assertThatThrownBy(() -> ClassFolders.list(folder)).hasMessageContainingAll("\"ant\"", "\"ant\\u200b\"");
    }
}
