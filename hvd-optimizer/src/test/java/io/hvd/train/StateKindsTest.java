package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.data.ElasticSampler;
import io.hvd.data.ShardRandom;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The state of one part of a training is no other part's, though some have the same words. */
class StateKindsTest {
    private static Map<String, Stateful> parts(Goal goal) {
        Map<String, Stateful> parts = new LinkedHashMap<>();
        parts.put("EarlyStop", new EarlyStop(goal, 2));
        parts.put("Plateau", new Plateau(goal, 0.5, 2, 0));
        parts.put("SaveCheckpoint", SaveCheckpoint.best(goal, Path.of("best"), training -> null));
        parts.put("ShardRandom", new ShardRandom(5, 64));
        parts.put("ElasticSampler", ElasticSampler.builder(10, 1, 0).build());
        return parts;
    }

    @Test
    void everyOtherPartsStateIsRefusedAndItsOwnIsTaken() {
        Map<String, Stateful> parts = parts(Goal.smallest("loss"));
        parts.forEach((from, saved) -> parts(Goal.smallest("loss")).forEach((to, part) -> {
            Map<String, String> before = part.saveState();
            if (from.equals(to)) {
                part.loadState(saved.saveState());
            } else {
                refused(part, saved.saveState(), to);
            }
            assertThat(part.saveState()).isEqualTo(before);
        }));
        refused(
                parts.get("EarlyStop"),
                parts.get("Plateau").saveState(),
                "\"kind\" is \"Plateau\"",
                "expected EarlyStop");
    }

    @Test
    void aStateOfAnotherMetricOrDirectionIsRefused() {
        for (String kind : new String[] {"EarlyStop", "Plateau", "SaveCheckpoint"}) {
            Stateful part = parts(Goal.smallest("loss")).get(kind);
            refused(part, parts(Goal.largest("loss")).get(kind).saveState(), "\"better\" is \"largest\"", "smallest");
            refused(part, parts(Goal.smallest("error")).get(kind).saveState(), "\"metric\" is \"error\"", "loss");
        }
    }

    /** They are known by their keys. */
    @Test
    void aStateOfBeforeThereWereKindsIsTakenByItsPartAlone() {
        Map<String, Stateful> parts = parts(Goal.smallest("loss"));
        parts.forEach((from, saved) -> {
            Map<String, String> older = new TreeMap<>(saved.saveState());
            older.remove("kind");
            older.remove("better");
            if (from.equals("SaveCheckpoint")) {
                older.remove("metric");
            }
            parts(Goal.smallest("loss")).forEach((to, part) -> {
                if (from.equals(to)) {
                    part.loadState(older);
                } else {
                    refused(part, older, to);
                }
            });
        });
    }

    private static void refused(Stateful part, Map<String, String> state, String... facts) {
        assertThatThrownBy(() -> part.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(facts);
    }
}
