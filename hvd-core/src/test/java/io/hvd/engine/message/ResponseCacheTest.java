package io.hvd.engine.message;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ResponseCacheTest {
    private final ResponseCache<String> two = new ResponseCache<>(2);

    @Test
    void numbersAreGivenInOrderAndNeverTwice() {
        two.put("a", "1");
        two.put("b", "2");
        two.put("a", "changed");
        assertThat(two.find("b").orElseThrow().number()).isEqualTo(1);
        assertThat(two.find("a").orElseThrow())
                .extracting(ResponseCache.Entry::number, ResponseCache.Entry::value)
                .containsExactly(2, "changed");
        assertThat(two.get(0)).as("the number of what has changed").isNull();
    }

    @Test
    void theLeastRecentlyUsedEntryGoes() {
        two.put("a", "1");
        two.put("b", "2");
        two.used(0);
        assertThat(two.put("c", "3")).map(ResponseCache.Entry::name).contains("b");
        assertThat(two.find("b")).isEmpty();
        assertThat(two.find("a")).isPresent();
        assertThat(two.put("d", "4")).map(ResponseCache.Entry::name).contains("a");
    }

    @Test
    void whatIsReplacedIsHandedBack() {
        two.put("a", "1");
        assertThat(two.put("a", "2")).map(ResponseCache.Entry::value).contains("1");
        assertThat(two.put("b", "3")).isEmpty();
    }

    @Test
    void withoutCapacityNothingIsRemembered() {
        ResponseCache<String> none = new ResponseCache<>(0);
        assertThat(none.put("a", "1")).isEmpty();
        assertThat(none.find("a")).isEmpty();
    }
}
