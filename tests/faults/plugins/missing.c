/* missing.c — a library that is gone when it is needed. */
void quoin_missing_function(void);

void quoin_missing_function(void) {
}
