package io.hvd.engine.message;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Remembers the last requests of a process set under small numbers; a full cache drops the least recently used one. All
 * ranks and the coordinator update their caches from the same stream of plans, so the numbers agree without any message
 * about them. Numbers are never used again.
 *
 * @param <T> what is remembered of a request
 */
public final class ResponseCache<T> {
    private final int capacity;
    private final LinkedHashMap<String, Entry<T>> byName = new LinkedHashMap<>();
    private final Map<Integer, Entry<T>> byNumber = new HashMap<>();
    private int next;

    /** @param capacity the largest number of entries; with 0 nothing is remembered */
    public ResponseCache(int capacity) {
        this.capacity = capacity;
    }

    public record Entry<T>(int number, String name, T value) {}

    public Optional<Entry<T>> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    public Entry<T> get(int number) {
        return byNumber.get(number);
    }

    /** A plan uses an entry again. */
    public void used(int number) {
        Entry<T> entry = byNumber.get(number);
        byName.remove(entry.name());
        byName.put(entry.name(), entry);
    }

    /**
     * A plan has a request that is new or has changed.
     *
     * @return the entry that is dropped for it, because it is out of date or the cache is full
     */
    public Optional<Entry<T>> put(String name, T value) {
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
