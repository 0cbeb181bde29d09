/** Files that are there as a whole or not at all, and the JSON that is written into some of them. */
package io.hvd.file;
