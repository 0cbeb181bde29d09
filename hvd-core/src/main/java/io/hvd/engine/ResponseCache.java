package io.hvd.engine;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Remembers the last requests of a process set under small numbers, the least recently used one going
 * first. All ranks and the coordinator feed theirs from the same stream of plans, so the numbers agree
 * without a word about them. Numbers are never used again.
 *
 * @param <T> what is remembered of a request
 */
final class ResponseCache<T> {
    private final int capacity;
    private final LinkedHashMap<String, Entry<T>> byName = new LinkedHashMap<>();
    private final Map<Integer, Entry<T>> byNumber = new HashMap<>();
    private int next;

    /** @param capacity most entries; 0 remembers nothing */
    ResponseCache(int capacity) {
        this.capacity = capacity;
    }

    record Entry<T>(int number, String name, T value) {}

    Optional<Entry<T>> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    Entry<T> get(int number) {
        return byNumber.get(number);
    }

    /** The plan uses an entry again. */
    void used(int number) {
        Entry<T> entry = byNumber.get(number);
        byName.remove(entry.name());
        byName.put(entry.name(), entry);
    }

    /**
     * The plan brings a request that is new, or has changed.
     *
     * @return the entry that has to go for it, because it is out of date or the cache is full
     */
    Optional<Entry<T>> put(String name, T value) {
        if (capacity == 0) {
            return Optional.empty();
        }
        Entry<T> gone = byName.remove(name);
        if (gone == null && byName.size() == capacity) {
            gone = byName.remove(byName.keySet().iterator().next());
        }
        if (gone != null) {
            byNumber.remove(gone.number());
        }
        Entry<T> entry = new Entry<>(next++, name, value);
        byName.put(name, entry);
        byNumber.put(entry.number(), entry);
        return Optional.ofNullable(gone);
    }
}
