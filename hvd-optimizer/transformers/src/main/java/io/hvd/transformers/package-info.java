/** Transformers in LibTorch that take the weights of Hugging Face's files, low-rank adapters for them, and their tokenizers. */
package io.hvd.transformers;
