/**
 * The images that the examples train on: the small digits that travel in the jar, MNIST's files, and digits drawn on the
 * spot where there are no files.
 */
package io.hvd.examples.data;
