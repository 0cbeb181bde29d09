/** Adapts a pretrained transformer to texts of the user's. */
package io.hvd.examples.finetune;
