#include "CIDN.h"
