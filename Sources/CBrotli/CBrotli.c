#include "CBrotli.h"
