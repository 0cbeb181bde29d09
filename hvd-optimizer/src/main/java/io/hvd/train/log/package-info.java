/** The record of a run: curves for TensorBoard, in JSON and in CSV, and the run card. */
package io.hvd.train.log;
