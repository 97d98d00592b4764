/* SPDX-License-Identifier: Apache-2.0 */
/* The public header as a C program sees it. */
#include "gin/gin.h"

int c_api_version(void);
int c_api_sizes_are_set(void);

int c_api_version(void) {
  int version = 0;
  return ginGetVersion(&version) == ginSuccess ? version : -1;
}

int c_api_sizes_are_set(void) {
  ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  return r.size == sizeof r && r.signals == -1 && r.timeoutNs == -1;
}
