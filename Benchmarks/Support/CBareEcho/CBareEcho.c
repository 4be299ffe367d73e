#include "CBareEcho.h"
