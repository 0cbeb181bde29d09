package io.hvd.spark.columns;

/** A value that cannot be an element of a tensor. The message goes on after the name of its column. */
final class BadValueException extends Exception {
    private static final long serialVersionUID = 1L;

    BadValueException(String words) {
        super(words);
    }
}
