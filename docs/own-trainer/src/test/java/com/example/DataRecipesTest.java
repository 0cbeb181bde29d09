package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import io.hvd.data.Dataset;
import io.hvd.data.mapped.MappedDataset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataRecipesTest {
    @TempDir
    Path folder;

    @Test
    void allRanksReadTheLinesThatOneHasMapped() throws Exception {
        Path corpus = Files.writeString(folder.resolve("corpus.txt"), "one\n\nthree words here\n");
        List<MappedDataset> all = Hvd.spawn(2, hvd -> DataRecipes.map(hvd, corpus, folder.resolve("corpus.hvd")));
        for (MappedDataset lines : all) {
            assertEquals(3, lines.size());
            assertEquals(
                    "three words here",
                    StandardCharsets.UTF_8.decode(lines.get(2)).toString());
        }
    }

    @Test
    void inEachStepBothRanksHaveTextsOfTheSameLength() {
        Dataset<int[]> texts = Dataset.of(
                IntStream.range(0, 256).mapToObj(i -> new int[i / 2]).toList());
        List<List<Integer>> lengths = Hvd.spawn(2, hvd -> {
            List<Integer> sums = new ArrayList<>();
            try (var loader = DataRecipes.balance(hvd, texts)) {
                double waited = DataRecipes.dataWait(
                        loader,
                        batch -> sums.add(batch.stream().mapToInt(text -> text.length).sum()));
                assertTrue(waited >= 0 && waited <= 1, "share " + waited);
            }
            return sums;
        });
        assertEquals(2, lengths.get(0).size());
        assertEquals(lengths.get(0), lengths.get(1));
    }
}
