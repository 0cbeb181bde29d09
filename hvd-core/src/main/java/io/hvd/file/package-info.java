/** Files that are there as a whole or not at all, the JSON that is written into some of them, and texts that people write. */
package io.hvd.file;
