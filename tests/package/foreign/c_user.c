/* Whether the library that is found is the one that the header speaks of. */
#include <dpledger.h>
#include <stdio.h>

int main(void) {
  printf("%s\n", dpledger_status_name(DPLEDGER_INVALID_ARGUMENT));
  return dpledger_abi_version() >> 16 == DPLEDGER_ABI_MAJOR ? 0 : 1;
}
