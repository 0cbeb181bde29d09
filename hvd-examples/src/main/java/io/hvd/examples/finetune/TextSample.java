package io.hvd.examples.finetune;

/**
 * A text as it was read.
 *
 * @param label its category; empty where the task needs none
 * @param text of some words
 * @param second the text that belongs to it; empty where the task needs none
 */
record TextSample(String label, String text, String second) {}
