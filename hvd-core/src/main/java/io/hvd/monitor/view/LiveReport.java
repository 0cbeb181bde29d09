package io.hvd.monitor.view;

/**
 * A rank's answer when it is asked what it is doing.
 *
 * @param training the thread that made the last collective, else the one that initialised hvd
 * @param communication the thread that carries collectives out
 * @param stillness whether any thread of its process may still make a call
 * @param others the other threads' stacks, as text
 * @param machine memory, garbage collection and uptime, as text
 */
public record LiveReport(
        Activity activity,
        StackView training,
        StackView communication,
        Stillness stillness,
        String others,
        String machine) {}
