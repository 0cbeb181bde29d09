/**
 * The images that the examples train on: the small digits in the jar, the files of MNIST and CIFAR-10, and images that
 * the program draws if there are no files.
 */
package io.hvd.examples.data;
