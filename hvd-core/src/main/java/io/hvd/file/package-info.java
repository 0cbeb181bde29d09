/** Files that are there as a whole or not at all. */
package io.hvd.file;
